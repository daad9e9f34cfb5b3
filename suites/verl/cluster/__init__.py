"""Policy optimization with verl's own trainer (0.9.1, V1): ray, FSDP2, a rollout server; on GPUs, or for real on a CPU.

Light to import. The sampling is the in-process engine's (`suites.verl.sampling`, `suites.updates`).
"""
