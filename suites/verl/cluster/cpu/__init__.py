"""verl on a CPU: a platform, an engine and a rollout server, by verl's own plugin points.

Opt-in: nothing here is an entry point of verl's. The launcher names this package in VERL_USE_EXTERNAL_MODULES, and
VERL_PLATFORM=cpu, for presets whose device is the CPU; a GPU cluster never imports `register`'s module.
"""

ENVIRONMENT = {
    "VERL_PLATFORM": "cpu",
    "VERL_USE_EXTERNAL_MODULES": "suites.verl.cluster.cpu.register",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
