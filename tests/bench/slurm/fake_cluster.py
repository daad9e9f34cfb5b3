"""A real Slurm on one machine: controller and node daemons with ports and directories of their own, as root.

The nodes are fake (all of them are this machine), the scheduler is not. Daemons run in the foreground and die with the
test process, whatever ends that.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from slurm_conf import ACCOUNTS, CONF, NO_ACCOUNTING, NODE, SLURMDBD, SLURMDBD_CONF

NODES = ("n1", "n2")
JOBS = 50_000  # ids that the tests take at most until a controller is started anew
SPAN = 16  # ports of one cluster
DAEMON = ("setpriv", "--pdeathsig", "KILL", "--")
PATIENCE_S = 180.0  # of every wait; only a failure takes so long, whatever else the machine does


class FakeCluster:
    """Two nodes of 8 CPUs and 8 GB (however many the machine has), partitions `main` and, to preempt it, `high`.

    Args:
        top: a directory of its own.
        accounts: with slurmdbd and a database, so that sacct works; without, squeue alone remembers.
        max_jobs: that the controller has room for.
    """

    def __init__(self, top: Path, accounts: bool = False, max_jobs: int = 30000) -> None:
        self.top, self.accounts, self.max_jobs = top, accounts, max_jobs
        self.host = socket.gethostname().partition(".")[0]
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.calls = top / "calls"  # a line for each client command that went through `env`
        self.env = os.environ | {
            "SLURM_CONF": str(top / "slurm.conf"),
            "PATH": f"{top / 'bin'}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin",
        }

    def start(self) -> None:
        """Bring all of it up; about a second, four with accounting."""
        for name in ("state", "log", "spool/n1", "spool/n2", "bin"):
            (self.top / name).mkdir(parents=True)
        self._count_calls()
        self.port = free_ports()
        if self.accounts:
            self._start_accounting()
        nodes = [NODE.format(i=i, host=self.host, port=self.port + 2 + i) for i in (1, 2)]
        accounting = SLURMDBD.format(port=self.port + 1) if self.accounts else NO_ACCOUNTING
        (self.top / "slurm.conf").write_text(
            CONF.format(
                host=self.host, top=self.top, port=self.port, nodes="\n".join(nodes), accounting=accounting,
                max_jobs=self.max_jobs,
            )
        )  # fmt: skip
        self.count_jobs_from(1)
        (self.top / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        if self.accounts:
            wait_until(lambda: self.ok("sacctmgr", "-n", "show", "cluster"), "slurmdbd answers")
            for words in ACCOUNTS:
                self.ok("sacctmgr", "-i", *words.split())
        self.start_daemon("slurmctld")
        for node in NODES:
            self.start_daemon("slurmd", node)
        wait_until(self._idle, "both nodes are idle")

    def count_jobs_from(self, number: int) -> None:
        """The first id that a controller gives out which knows of no jobs.

        A node that meets an id again, and has not heard from the controller how its first job ended, drains itself.
        """
        self.first_job = number
        (self.top / "first_job").write_text(f"FirstJobId={number}\n")

    def start_daemon(self, name: str, node: str = "") -> None:
        """slurmctld, or the slurmd of a node."""
        words = [name, "-D", *(["-N", node] if node else [])]
        with (self.top / "log" / f"{name}{node}.out").open("ab") as log:
            self.daemons[node or name] = subprocess.Popen(
                [*DAEMON, *words],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """kill -9 a daemon; a node's takes its steps and all that they run along, as a crash of the machine does."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        if name in NODES:
            self._kill_processes(name)
        daemon.wait()

    def _kill_processes(self, node: str) -> None:
        for pid in list(self.processes_of(node)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes_of(self, node: str) -> Iterator[int]:
        """Step daemons and tasks of a node: the first know its log, the others its name."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                environment = (process / "environ").read_bytes().split(b"\0")
                ours = f"SLURM_CONF={self.top / 'slurm.conf'}".encode() in environment
                on_node = f"SLURMD_NODENAME={node}".encode() in environment
                links = [os.readlink(link) for link in (process / "fd").iterdir()]
                if (ours and on_node) or str(self.top / "log" / f"slurmd.{node}.log") in links:
                    yield int(process.name)

    def forget(self) -> None:
        """Let the controller forget all jobs and start to count them anew, as MinJobAge and a lost state do."""
        self.kill("slurmctld")
        for file in (self.top / "state").glob("job_state*"):
            file.unlink()
        self.count_jobs_from(1)
        self.start_daemon("slurmctld")
        wait_until(lambda: self.ok("squeue"), "the controller answers")
        wait_until(self._idle, "both nodes are idle")

    def clear(self) -> None:
        """End all jobs, and take nodes that were drained or down into service again."""
        self._end_jobs(PATIENCE_S)
        wait_until(self._resumed, "both nodes are idle")

    def _end_jobs(self, patience_s: float) -> None:
        self.ok("scancel", "--user=root")
        wait_until(lambda: self.ok("squeue") and not self.output("squeue", "-h"), "jobs end", patience_s)

    def _idle(self) -> bool:
        return self.output("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split() == ["idle"] * 2

    def _resumed(self) -> bool:
        if self._idle():
            return True
        self.ok("scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
        return False

    def stop(self) -> None:
        """Cancel what runs, then end the daemons."""
        if "slurmctld" in self.daemons:
            with suppress(TimeoutError):
                self._end_jobs(15)
        for name in (*NODES, "slurmctld", "slurmdbd", "mariadbd"):
            if name in self.daemons:
                process = self.daemons.pop(name)
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(10)
                process.kill()
                process.wait()
        for node in NODES:
            self._kill_processes(node)

    def ok(self, *words: str) -> bool:
        """Whether a Slurm command succeeds."""
        with suppress(subprocess.TimeoutExpired):
            return subprocess.run(words, env=self.env, capture_output=True, timeout=30).returncode == 0
        return False

    def output(self, *words: str) -> str:
        """What a Slurm command prints, nothing where it does not answer."""
        with suppress(subprocess.TimeoutExpired):
            return subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=30).stdout.strip()
        return ""

    def counted(self) -> dict[str, int]:
        """Client command -> how often it was called."""
        lines = self.calls.read_text().split() if self.calls.exists() else []
        return {name: lines.count(name) for name in set(lines)}

    def _count_calls(self) -> None:
        for name in ("sbatch", "squeue", "sacct", "scontrol", "scancel"):
            real = shutil.which(name)
            file = self.top / "bin" / name
            file.write_text(f'#!/bin/sh\necho {name} >>{self.calls}\nexec {real} "$@"\n')
            file.chmod(0o755)

    def _start_accounting(self) -> None:
        data, port = self.top / "database", self.port + 2
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        install = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db"]
        install += ["--auth-root-authentication-method=normal", "--skip-name-resolve"]
        done = subprocess.run(install, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        statements = (
            "CREATE DATABASE slurm_acct",
            "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm'",
            "GRANT ALL ON slurm_acct.* TO slurm@'127.0.0.1'",
        )
        (self.top / "init.sql").write_text("".join(f"{statement};\n" for statement in statements))  # one a line
        sizes = ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--performance-schema=OFF")
        speed = ("--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900")
        where = (f"--datadir={data}", f"--socket={self.top}/db.sock", "--bind-address=127.0.0.1", f"--port={port}")
        words = ["mariadbd", "--no-defaults", "--user=root", *where, f"--init-file={self.top}/init.sql", *sizes, *speed]
        self.daemons["mariadbd"] = subprocess.Popen([*DAEMON, *words], env=self.env, start_new_session=True, **quiet)
        client = ("mariadb", "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uslurm", "-pslurm", "slurm_acct")
        wait_until(lambda: self.ok(*client, "-e", "select 1"), "mariadbd answers")
        conf = self.top / "slurmdbd.conf"
        conf.write_text(SLURMDBD_CONF.format(port=self.port + 1, database=port, top=self.top))
        conf.chmod(0o600)
        self.start_daemon("slurmdbd")


def free_ports() -> int:
    """The first of SPAN consecutive ports that nobody listens on."""
    while True:
        first = random.SystemRandom().randrange(20000, 32000, SPAN)  # below the range of outgoing connections
        if all(_free(port) for port in range(first, first + SPAN)):
            return first


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Look again and again until `condition` holds; TimeoutError names `what` was waited for."""
    until = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {patience_s:g} s in vain: {what}")
        time.sleep(0.05)
