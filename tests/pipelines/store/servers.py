"""Real object stores on loopback: servers that tests start, ask through the usual environment, and end."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests

BUCKET = "crawl"
S3_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
START_SECONDS = 60
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@latest"


@dataclass(frozen=True)
class Server:
    """A server that runs, and the environment in which winnow finds it."""

    name: str
    port: int
    process: int
    content: Path  # its folder of buckets, where it keeps objects as files
    host: str = "127.0.0.1"

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def scheme(self) -> str:
        return "gs" if self.name == "fake-gcs-server" else "s3"

    @property
    def environment(self) -> dict[str, str]:
        return self.behind(self.endpoint)

    def behind(self, endpoint: str) -> dict[str, str]:
        """The environment for a proxy in front of it."""
        if self.scheme == "gs":
            return {"STORAGE_EMULATOR_HOST": endpoint}
        return {**S3_KEYS, "AWS_ENDPOINT_URL_S3": endpoint}

    def make_bucket(self, name: str) -> None:
        if self.scheme == "gs":
            made = requests.post(
                f"{self.endpoint}/storage/v1/b", params={"project": "p"}, json={"name": name}, timeout=9
            )
            assert made.status_code == 200, made.text
        else:
            s3_client(self).create_bucket(Bucket=name)


def s3_client(server: Server) -> Any:
    """boto3 itself, to see what the store left there."""
    return aws_client(server, "s3")


def aws_client(server: Server, service: str) -> Any:
    """Any service of a server that speaks AWS, as its root."""
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )


def make_strict(server: Server) -> dict[str, str]:
    """From here on moto, which takes all who come, minds keys and rights; returns those of an account without any.

    It has to be started with INITIAL_NO_AUTH_ACTION_COUNT at something large.
    """
    made = aws_client(server, "iam")
    made.create_user(UserName="nobody")
    key = made.create_access_key(UserName="nobody")["AccessKey"]
    assert requests.post(f"{server.endpoint}/moto-api/reset-auth", data="0", timeout=9).ok
    keys = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    return {**server.environment, **keys}


def add_account(server: Server, name: str) -> dict[str, str]:
    """An account of versitygw that may do nothing; returns the environment in which winnow asks in its name."""
    program = binary("versitygw", VERSITYGW)
    root = ("--access", "key", "--secret", "secret", "--endpoint-url", server.endpoint)
    account = ("--access", name, "--secret", f"{name}-secret", "--role", "user")
    subprocess.run([program, "admin", *root, "create-user", *account], check=True, capture_output=True)
    return {**server.environment, "AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": f"{name}-secret"}


def allow(server: Server, bucket: str, accounts: Mapping[str, Sequence[str]]) -> None:
    """Let accounts do these actions of S3 in a bucket."""
    places = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
    statements = [
        {
            "Effect": "Allow",
            "Principal": {"AWS": [account]},
            "Action": action,
            "Resource": places["Bucket" not in action],
        }
        for account, actions in accounts.items()
        for action in actions
    ]
    s3_client(server).put_bucket_policy(
        Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": statements})
    )


def binary(name: str, source: str) -> str:
    """The program of a server: named by WINNOW_<NAME>, on PATH or in GOBIN; its test is skipped where there is none."""
    variable = f"WINNOW_{name.upper().replace('-', '_')}"
    folders = os.pathsep.join((os.environ.get("PATH", ""), os.environ.get("GOBIN", ""), str(Path.home() / "go/bin")))
    found = os.environ.get(variable) or shutil.which(name, path=folders)
    if not found:
        pytest.skip(f"no {name} on PATH or in GOBIN; get it by 'go install {source}', or name it in {variable}")
    return found


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def started(
    name: str, folder: Path, environment: Mapping[str, str] | None = None, host: str = "127.0.0.1"
) -> Iterator[Server]:
    """One of moto, versitygw and fake-gcs-server, with an empty bucket."""
    port = free_port()
    content = folder / "content"
    content.mkdir(parents=True)
    settings = dict(environment or {})
    if name == "moto":
        pytest.importorskip("moto.server", reason="no moto; get it by: pip install 'moto[server]'")
        command = [sys.executable, str(Path(__file__).with_name("moto_server.py")), "-H", host, "-p", str(port)]
    elif name == "versitygw":
        program = binary("versitygw", VERSITYGW)
        settings |= {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret"}
        (folder / "accounts").mkdir()
        accounts = ("--iam-dir", str(folder / "accounts"))
        command = [program, "--port", f"{host}:{port}", *accounts, "posix", str(content)]
    else:
        program = binary("fake-gcs-server", "github.com/fsouza/fake-gcs-server@latest")
        address = f"{host}:{port}"
        command = [
            *(program, "-backend", "filesystem", "-filesystem-root", str(content), "-scheme", "http"),
            *("-host", host, "-port", str(port), "-public-host", address, "-external-url", f"http://{address}"),
        ]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
        )
        try:
            server = Server(name, port, process.pid, content, host)
            _wait(server.endpoint, process, folder / "log")
            server.make_bucket(BUCKET)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            requests.get(f"{endpoint}/", timeout=5)
        except requests.exceptions.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"the server did not start: {log.read_text()[-2000:]}")
