"""Records for the tests of replay."""


def rollout(score, prompt="2+2=", output="4", **more):
    """A record with the names of verl's dumps."""
    return {"input": prompt, "output": output, "score": score, **more}
