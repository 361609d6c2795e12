"""The demo on Spark over three machines that have winnow and nothing else, one of which is lost in a stage."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conformance.hosts import DRIVER, Host, hosts
from tests.conformance.test_one_tree_hash import made_in
from tests.conformance.ways import Setting
from tests.faults.winnow import run
from tests.pipelines.store.servers import BUCKET, started
from tests.runners.engines.clusters import SparkCluster, spark_cluster
from tests.runners.engines.commands import boot_script, require_job_server
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_location

pytestmark = pytest.mark.engines

ROOT = f"s3://{BUCKET}/demo"


def test_a_machine_that_is_lost_in_a_stage_changes_no_value(tmp_path: Path) -> None:
    require_job_server("spark")
    demo = tmp_path / "demo"
    local = run(tmp_path, "demo", "--into", str(demo), "--workers", "2", seconds=1200)
    assert local.status == 0, local.err
    expected = made_in(str(demo / "store"), str(demo / "mixture"))
    for left in ("store", "mixture"):
        shutil.rmtree(demo / left)
    recipe = (demo / "demo.yaml").read_text().replace("path: store,", f"path: '{ROOT}/store',")
    (demo / "demo.yaml").write_text(recipe.replace("path: mixture/", f"path: {ROOT}/mixture/"))
    with (
        hosts(tmp_path / "hosts", 3) as machines,
        started("moto", tmp_path / "server", host=DRIVER) as server,
        spark_cluster(tmp_path / "cluster", workers=0, address=DRIVER) as cluster,
        Setting((), server.environment, ROOT).reached(),
    ):
        for machine in machines:
            cluster.add_worker(1, "1g", machine.address, machine.command, {**server.environment, **machine.environment})
        done = run_and_kill(demo, tmp_path, cluster, machines[1])
        assert done == 0, (tmp_path / "out").read_text() + (tmp_path / "err").read_text()
        made = made_in(f"{ROOT}/store", f"{ROOT}/mixture")
        assert list(open_location(f"{ROOT}/store").list(layout.NODE_FILES))
    assert "3 machines ready: node1, node2, node3" in (tmp_path / "out").read_text() + (tmp_path / "err").read_text()
    assert made.tree_hash == expected.tree_hash
    assert made.exports == expected.exports
    assert all(list((machine.home / "home/assets").iterdir()) for machine in machines)


def run_and_kill(demo: Path, folder: Path, cluster: SparkCluster, victim: Host) -> int:
    """Run the recipe, and lose a machine once its first layers are committed."""
    flags = (
        *(f"--spark_master_url={cluster.url}", f"--environment_options=process_command={boot_script(folder)}"),
        "--job_server_jvm_properties=-Dspark.default.parallelism=8",
        "--job_server_jvm_properties=-Dspark.executor.memory=700m",
        f"--job_server_jvm_properties=-Dspark.driver.host={DRIVER}",
        f"--job_server_jvm_properties=-Dspark.driver.bindAddress={DRIVER}",
    )
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        command = [sys.executable, "-m", "winnow", "run", "demo.yaml", "--runner", "spark", "--", *flags]
        process = subprocess.Popen(command, cwd=demo, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            objects = open_location(f"{ROOT}/store")
            while process.poll() is None and next(objects.list(layout.LAYER_COMMITS), None) is None:
                time.sleep(0.5)
            victim.kill()
            return process.wait(2400)
        finally:
            process.kill()
            process.wait()
