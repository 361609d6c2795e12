"""Job servers: the Java and the jar that Spark and Flink each need to run a Beam pipeline."""

from winnow.runners.engines.java.installed_java import Java, find_java, require_java
from winnow.runners.engines.java.jars import JobServerJar, cache_folder, find_jar, job_server
from winnow.runners.engines.java.server_kinds import FLINK, SERVERS, SPARK, EngineName, JobServer, JobServerError

__all__ = [
    "FLINK",
    "SERVERS",
    "SPARK",
    "EngineName",
    "Java",
    "JobServer",
    "JobServerError",
    "JobServerJar",
    "cache_folder",
    "find_jar",
    "find_java",
    "job_server",
    "require_java",
]
