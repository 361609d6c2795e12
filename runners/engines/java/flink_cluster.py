"""A Flink session cluster as its JobManager describes it, asked before anything is submitted to it."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from winnow.schemas.errors import StageError, WinnowError

ANSWER_SECONDS = 10.0
_ANSWER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Cluster:
    """What there is to run on."""

    address: str  # host:port of the JobManager's REST service
    version: str  # of Flink
    task_managers: int
    slots: int  # of all of them, in use or not
    free: int  # of them

    @property
    def slots_each(self) -> int:
        """Slots of a TaskManager, of the largest where they differ by a rest."""
        return -(-self.slots // max(self.task_managers, 1))


def cluster_at(master: str, expected_minor: str) -> Cluster:
    """The cluster at `host:port`, checked.

    Raises:
        WinnowError: Nothing answers there, or no Flink, or one of another version, or one without workers.
    """
    flag = f"--flink_master={master}"
    address = master.strip().removeprefix("http://").rstrip("/")
    scheme = "" if "://" in address else "http://"
    try:
        parts = urllib.parse.urlsplit(f"{scheme}{address}")
        usable = bool(parts.hostname and parts.port)
    except ValueError:
        usable = False
    if not usable:
        raise WinnowError(f"{flag}: expected HOST:PORT of a JobManager's REST service, or [local]")
    try:
        with urllib.request.urlopen(f"{scheme}{address}/overview", timeout=ANSWER_SECONDS) as answer:
            said = json.loads(answer.read(_ANSWER_BYTES))
        slots, free = int(said["slots-total"]), int(said.get("slots-available", said["slots-total"]))
        cluster = Cluster(address, str(said["flink-version"]), int(said["taskmanagers"]), slots, free)
    except urllib.error.HTTPError as error:
        raise WinnowError(f"{flag}: no Flink JobManager answers there (HTTP status {error.code})") from None
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        why = getattr(reason, "strerror", None) or str(reason)
        raise WinnowError(
            f"{flag}: no JobManager answers within {ANSWER_SECONDS:.0f} s ({why}); is the cluster up, and is this the "
            "port of its REST service (rest.port, 8081 by default)?"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise WinnowError(f"{flag}: what answers there is no Flink JobManager's REST service") from None
    if ".".join(cluster.version.split(".")[:2]) != expected_minor:
        raise WinnowError(
            f"{flag}: the cluster runs Flink {cluster.version}, and the job server speaks {expected_minor}: "
            f"use a cluster of Flink {expected_minor}, or give a job server made for {cluster.version}"
        )
    if cluster.slots < 1:
        raise WinnowError(f"{flag}: the cluster has no TaskManager, so no slot to run in; start one")
    return cluster


@contextmanager
def cluster_kept(cluster: Cluster, expected_minor: str) -> Iterator[None]:
    """A job that fails when its cluster has gone says so, whatever else it says.

    Raises:
        StageError: In place of the job's own error.
    """
    try:
        yield
    except Exception as error:
        try:
            cluster_at(cluster.address, expected_minor)
        except WinnowError:
            raise StageError(
                f"--flink_master={cluster.address}: the cluster went away in mid-job; what was committed stays, run "
                "the same command again once it is up"
            ) from error
        raise
