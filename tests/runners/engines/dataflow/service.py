"""Dataflow's REST interface on loopback, which runs the jobs that it gets in an environment of its own.

It answers as the service does, as far as Beam's client asks: jobs are made, looked at and cancelled. A job is run from
what was staged and nothing else: `pipeline.pb`, and winnow from the package beside it.
"""

import json
import re
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2

from winnow.pipelines.store.buckets.gcs import GcsStore

CANCELLED = 5  # of the states, as the interface numbers them
EXECUTE = Path(__file__).with_name("execute.py")


@dataclass
class Job:
    """A job as it was submitted, and what became of it."""

    request: dict[str, Any]
    graph: beam_runner_api_pb2.Pipeline
    package: str | None  # what winnow was shipped in
    state: str = "JOB_STATE_RUNNING"
    said: str = ""

    @property
    def name(self) -> str:
        return str(self.request["name"])


@dataclass
class Service:
    """What stands for Dataflow: jobs in order of submission."""

    folder: Path
    runs: bool = True
    spoils: str | None = None  # a file below the folder that goes before a job runs
    version: str | None = None  # what workers think winnow's is
    environment: dict[str, str] = field(default_factory=dict)  # of workers, beside what every process has
    jobs: list[Job] = field(default_factory=list)
    port: int = 0

    @property
    def flags(self) -> tuple[str, ...]:
        """What a driver is told to find it."""
        return (f"--dataflow_endpoint=http://localhost:{self.port}", "--no_auth")

    def submit(self, request: dict[str, Any]) -> int:
        """Take a job and, if it is to be run, run it; returns its number."""
        staged = self._fetched(request)
        graph = beam_runner_api_pb2.Pipeline.FromString((staged / "pipeline.pb").read_bytes())
        package = next(iter(staged.glob("winnow-*")), None)
        job = Job(request, graph, package.name if package else None)
        self.jobs.append(job)
        if self.spoils:
            (self.folder / self.spoils).unlink()
        if self.runs:
            self._run(job, staged, package)
        return len(self.jobs)

    def _fetched(self, request: dict[str, Any]) -> Path:
        """What was staged for a job, copied to a folder of its own."""
        folder = self.folder / f"staged-{len(self.jobs)}"
        folder.mkdir()
        packages = request["environment"]["workerPools"][0].get("packages", [])
        where = request["environment"]["sdkPipelineOptions"]["options"]["pipelineUrl"]
        for location in {where, *(one["location"] for one in packages)}:
            (folder / Path(location).name).write_bytes(_content(location))
        return folder

    def _run(self, job: Job, staged: Path, package: Path | None) -> None:
        python = self._environment(package)
        done = subprocess.run(
            [python, "-P", EXECUTE, staged / "pipeline.pb", self.folder / "environment"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), **self.environment},
        )
        job.state = "JOB_STATE_DONE" if done.returncode == 0 else "JOB_STATE_FAILED"
        job.said = done.stderr

    def _environment(self, package: Path | None) -> Path:
        """An environment that has winnow from the staged wheel, and what winnow needs from this one."""
        folder = self.folder / "environment"
        if not folder.exists():
            assert package is not None, "no winnow was staged"
            venv.create(folder, with_pip=False)
            packages = next((folder / "lib").glob("python*/site-packages"))
            with zipfile.ZipFile(package) as archive:
                archive.extractall(packages)
            if self.version:
                (about,) = packages.glob("winnow-*.dist-info/METADATA")
                about.write_text(re.sub(r"(?m)^Version: .*", f"Version: {self.version}", about.read_text(), count=1))
            lent = [path for path in sys.path if path.endswith("site-packages")]
            (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in lent))
        return folder / "bin" / "python"


def _content(location: str) -> bytes:
    """A staged file; buckets are named as the service of storage calls them: storage.googleapis.com/BUCKET/PATH."""
    if location.startswith("/"):
        return Path(location).read_bytes()
    bucket, _, path = re.sub(r"^(storage\.googleapis\.com/|gs://)", "", location).partition("/")
    return GcsStore.of(f"gs://{bucket}").read(path)


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """The service, for as long as it is needed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            number = service.submit(json.loads(self.rfile.read(length)))
            job = self._job(number)
            if job["currentState"] == "JOB_STATE_FAILED":  # a job fails after it was submitted, and is looked at then
                job["currentState"] = "JOB_STATE_RUNNING"
            self._answer(job)

        def do_PUT(self) -> None:
            length = int(self.headers["Content-Length"])
            assert json.loads(self.rfile.read(length))["requestedState"] == CANCELLED
            number = int(self._match()[1])
            service.jobs[number - 1].state = "JOB_STATE_CANCELLED"
            self._answer(self._job(number))

        def do_GET(self) -> None:
            if self.path == "/":  # whether anybody is there
                self.send_error(404)
                return
            number, what = self._match()[1], self._match()[2]
            if what == "/messages":
                said = service.jobs[int(number) - 1].said
                message = {"id": "1", "time": "2020-01-01T00:00:00Z", "messageText": said}
                message["messageImportance"] = "JOB_MESSAGE_ERROR"
                self._answer({"jobMessages": [message] if said else []})
            elif what == "/metrics":
                self._answer({"metrics": []})
            else:
                self._answer(self._job(int(number)))

        def _match(self) -> re.Match[str]:
            found = re.search(r"/jobs/job-(\d+)(/\w+)?", self.path)
            assert found, self.path
            return found

        def _job(self, number: int) -> dict[str, object]:
            job = service.jobs[number - 1]
            return {"id": f"job-{number}", "name": job.name, "projectId": "p", "currentState": job.state}

        def _answer(self, answer: object) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
