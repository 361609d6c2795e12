"""Jars of a few entries that say what real ones say of themselves."""

import zipfile
from pathlib import Path

SPARK_MAIN = "org.apache.beam.runners.spark.SparkJobServerDriver"


def write_jar(
    path: Path, main_class: str | None = SPARK_MAIN, beam: str | None = "2.70.0", spark: str | None = "3.5.0"
) -> Path:
    """A Spark job server's jar, but for what makes it run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        main = "" if main_class is None else f"Main-Class: {main_class[:40]}\r\n {main_class[40:]}\r\n"  # in two lines
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{main}\r\n")
        if beam is not None:
            jar.writestr("org/apache/beam/sdk/sdk.properties", f"# SDK\n\nversion={beam}\nsdk_version={beam}\n")
        if spark is not None:
            jar.writestr("spark-version-info.properties", f"version={spark}\nuser=ubuntu\n")
    return path
