"""Configuration of the fake cluster: quick to decide, quick to notice, and quick to try again."""

from __future__ import annotations

# cred_expire: also the seconds that a requeued job waits; less than 5 means the default of 120
CONF = """
ClusterName=fake
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool/%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.%n.pid
SlurmctldLogFile={top}/log/slurmctld.log
SlurmdLogFile={top}/log/slurmd.%n.log
SlurmctldPort={port}
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=1000
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobRequeue=1
KillWait=3
MinJobAge=3600
MaxArraySize=1001
MaxJobCount={max_jobs}
Include {top}/first_job
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldTimeout=30
SlurmdTimeout=30
MessageTimeout=8
InactiveLimit=0
{accounting}
{nodes}
PartitionName=DEFAULT Nodes=n[1-2] MaxTime=INFINITE State=UP
PartitionName=main Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=3
PartitionName=high Default=NO PriorityTier=10 PreemptMode=OFF
"""
NODE = "NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=8000 State=UNKNOWN"
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
SLURMDBD = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStorageEnforce=limits,qos"""
ACCOUNTS = (
    "add cluster fake",
    "add account lab",
    "add qos small MaxSubmitJobsPerUser=4",
    "add user root account=lab",
    "modify user root set qos+=small",
)
SLURMDBD_CONF = """
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
AuthType=auth/munge
SlurmUser=root
LogFile={top}/log/slurmdbd.log
PidFile={top}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
"""
