"""Sets for verl: from copies in the columns that are published, each problem once, counted, and readable by verl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

from strategies import WrongUse  # noqa: E402
from suites.verl import data  # noqa: E402
from suites.verl.data import prompts, sources  # noqa: E402
from suites.verl.data.prepare import prepare  # noqa: E402
from suites.verl.data.prepared import Prepared, noted  # noqa: E402
from suites.verl.data.recipe import Recipe  # noqa: E402

DAPO = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\n"
    'Remember to put your answer on its own line after "Answer:".'
)


def dapo_row(problem: str, answer: str, index: object = 0) -> dict[str, Any]:
    """As in BytedTsinghua-SIA/DAPO-Math-17k and AIME-2024."""
    return {
        "data_source": "math_dapo",
        "prompt": [{"content": DAPO.format(problem), "role": "user"}],
        "ability": "MATH",
        "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": str(index)},
    }


def processed_row(problem: str, answer: str) -> dict[str, Any]:
    """As in open-r1/DAPO-Math-17k-Processed."""
    row = dapo_row(problem, answer)
    return row | {"prompt": problem, "solution": answer, "source_prompt": row["prompt"]}


# set -> a row of the hub's copy (problem n has the answer n), in its columns
PUBLISHED: Mapping[str, Any] = {
    "dapo-math-17k": lambda n: dapo_row(f"Find $x$ if $x = {n}$.", str(n), n),
    "aime": lambda n: {
        "ID": f"1983-{n}",
        "Year": 1983,
        "Problem Number": n,
        "Question": f"Find $x$ if $x = {n}$.",
        "Answer": f"{n:03}",
        "Part": None,
    },
    "aime24": lambda n: dapo_row(f"Find $x$ if $x = {n}$.", str(n), n),
    "amc": lambda n: {"id": n, "problem": f"Find $x$ if $x = {n}$.", "answer": float(n), "url": "https://example.org"},
    "amc23": lambda n: {"id": n, "question": f"Find $x$ if $x = {n}$.", "answer": str(n), "url": "https://example.org"},
    "math500": lambda n: {
        "problem": f"Find $x$ if $x = {n}$.",
        "solution": f"$\\boxed{{{n}}}$",
        "answer": str(n),
        "subject": "Algebra",
        "level": 1,
        "unique_id": f"test/algebra/{n}.json",
    },
    "gsm8k": lambda n: {"question": f"Find $x$ if $x = {n}$.", "answer": f"It is <<{n}={n}>>{n}.\n#### {n:,}"},
}


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Parquet, JSON or JSON lines, by the suffix."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = list(rows)
    if file.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), file)
    elif file.suffix == ".json":
        file.write_text(json.dumps(rows))
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def from_file(name: str, file: Path, out: Path, answer_format: str = "boxed", any_count: bool = True) -> Prepared:
    recipe = data.find(name)
    rows = sources.from_files(recipe, [file], lambda size: None)
    return prepare(recipe, rows, file.name, out, answer_format, any_count)


def rows_of(note: Prepared) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(note.file).to_pylist()
    return rows


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".json"])
@pytest.mark.parametrize("name", data.SETS)
def test_published_columns(name: str, suffix: str, tmp_path: Path) -> None:
    file = write(tmp_path / f"copy{suffix}", (PUBLISHED[name](n) for n in range(1001, 1004)))
    note = from_file(name, file, tmp_path)
    first = rows_of(note)[0]
    assert first == {
        "data_source": data.SETS[name].name,
        "prompt": [{"role": "user", "content": prompts.FORMATS["boxed"].format("Find $x$ if $x = 1001$.")}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "1001"},
        "extra_info": {"split": data.SETS[name].role, "index": 0, "answer_format": "boxed"},
    }
    assert note.problems == 3
    assert noted(data.SETS[name], tmp_path) == note


def test_the_processed_copy_of_dapo_gives_the_same_problems(tmp_path: Path) -> None:
    pairs = [(f"What is ${n}$?", str(n)) for n in range(5)]
    raw = from_file("dapo-math-17k", write(tmp_path / "raw.parquet", (dapo_row(*p) for p in pairs)), tmp_path / "a")
    processed = write(tmp_path / "processed.parquet", (processed_row(*pair) for pair in pairs))
    assert rows_of(from_file("dapo-math-17k", processed, tmp_path / "b")) == rows_of(raw)


@pytest.mark.parametrize("answer_format", prompts.FORMATS)
def test_what_was_prepared_can_be_prepared_in_another_format(answer_format: str, tmp_path: Path) -> None:
    """The instruction of the copy goes, whichever it is: one prompt never asks for two formats."""
    file = write(tmp_path / "gsm8k.jsonl", [PUBLISHED["gsm8k"](n) for n in range(3)])
    first = from_file("gsm8k", file, tmp_path / "first", answer_format)
    second = from_file("gsm8k", Path(first.file), tmp_path / "second", "boxed")
    plain = from_file("gsm8k", file, tmp_path / "plain", "boxed")
    assert rows_of(second) == rows_of(plain)


def test_every_problem_once(tmp_path: Path) -> None:
    """DAPO's copy repeats each about a hundred times; two with two answers are left out."""
    rows = [dapo_row(f"What is {n}?", str(n), f"{turn}-{n}") for turn in range(100) for n in range(50)]
    rows[70 * 50] = dapo_row("What  is 0?", "17")  # problem 0, with another space and another answer
    rows[80 * 50 + 1] = dapo_row("What is 1?", "17")
    note = from_file("dapo-math-17k", write(tmp_path / "dapo.parquet", rows), tmp_path)
    assert (note.read, note.problems, note.repeated, note.conflicting) == (5000, 48, 4950, 2)
    assert str(note) == (
        "DAPO-Math-17k: 48 problems of 5,000 rows (4,950 rows repeat one; 2 left out, with two different answers)"
    )
    assert [row["reward_model"]["ground_truth"] for row in rows_of(note)] == [str(n) for n in range(2, 50)]


def test_aime_2024_is_thirty_problems_not_960(tmp_path: Path) -> None:
    rows = [PUBLISHED["aime24"](n) for n in range(30) for _ in range(32)]
    note = from_file("aime24", write(tmp_path / "aime-2024.parquet", rows), tmp_path, any_count=False)
    assert (note.problems, note.repeated) == (30, 930)


def test_memory_grows_with_the_problems_not_with_the_rows(tmp_path: Path) -> None:
    """3,000 rows of 20 kB, made as they are read, hold a hundred problems."""
    import tracemalloc

    recipe = data.find("dapo-math-17k")
    columns = recipe.columns(["prompt", "reward_model"])
    rows = (("row", dapo_row(f"{n % 100}" + " x" * 10_000, "1"), columns) for n in range(3_000))
    tracemalloc.start()
    prepare(recipe, rows, "made", tmp_path, "boxed", any_count=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # the rows would take 60 MB and more


BAD: Mapping[str, tuple[str, list[Any], str]] = {
    "columns": ("gsm8k", [{"input": "?", "output": "1"}], "line 1: has the columns input, output; GSM8K needs"),
    "no answer": ("amc", [{"problem": "?", "answer": None}], "line 1: has no answer (null)"),
    "no problem": ("amc", [{"problem": "?", "answer": 1}, {"problem": " ", "answer": 1}], "line 2: has no problem"),
    "no hashes": ("gsm8k", [{"question": "?", "answer": "18"}], "line 1: has no #### before its answer"),
    "chat": ("dapo-math-17k", [dapo_row("?", "1") | {"prompt": []}], "line 1: has no problem"),
    "not json": ("amc", ["{"], "line 1: "),
    "empty": ("amc", [], "0 distinct problems"),
    "instruction": (
        "amc",
        [{"problem": f"{n}? Put your answer in {{}}.", "answer": 1} for n in range(9)],
        "9 of 9 problems ask for an answer in a format of their own",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_copy_is_refused_and_nothing_written(case: str, tmp_path: Path) -> None:
    name, rows, says = BAD[case]
    file = tmp_path / "copy.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    with pytest.raises(WrongUse) as error:
        from_file(name, file, tmp_path / "out")
    assert says in str(error.value)
    assert "copy.jsonl" in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", data.SETS)
def test_another_number_of_problems_is_refused(name: str, tmp_path: Path) -> None:
    file = write(tmp_path / "copy.jsonl", [PUBLISHED[name](n) for n in range(3)])
    with pytest.raises(WrongUse, match=r"3 distinct problems, where .* --any-count"):
        from_file(name, file, tmp_path / "out", any_count=False)


def test_problems_may_speak_of_formats_by_chance(tmp_path: Path) -> None:
    rows = [PUBLISHED["amc"](n) for n in range(199)] + [{"problem": "Put your answer in lowest terms.", "answer": 1}]
    assert from_file("amc", write(tmp_path / "amc.jsonl", rows), tmp_path / "out").problems == 200


def clone(recipe: Recipe, folder: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """A set as it lies on the hub: its card, and parquet files under `data`."""
    write(folder / "data" / f"{recipe.split}-00000-of-00001.parquet", rows)
    config = {"config_name": recipe.config or "default", "data_files": [{"split": recipe.split, "path": "data/*"}]}
    (folder / "README.md").write_text(f"---\nconfigs: {json.dumps([config])}\n---\n")
    return str(folder)


@pytest.mark.verl
@pytest.mark.parametrize("name", ["dapo-math-17k", "gsm8k", "amc"])
def test_hub_client_reads_its_own_layout(name: str, tmp_path: Path) -> None:
    """The same call as for the hub, on a folder that looks like the hub's."""
    from dataclasses import replace

    recipe, advanced = data.find(name), []
    recipe = replace(recipe, hub=clone(recipe, tmp_path / "repo", [PUBLISHED[name](n) for n in range(20)]))
    note = prepare(recipe, sources.from_hub(recipe, advanced.append), recipe.hub, tmp_path, "boxed", any_count=True)
    assert note.problems == len(advanced) == 20


@pytest.mark.verl
def test_no_hub_is_one_line_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match=r"openai/gsm8k can't be fetched .*--from FILE"):
        next(sources.from_hub(data.find("gsm8k"), lambda rows: None))


def test_local_copies_are_found_by_name(tmp_path: Path) -> None:
    row = PUBLISHED["gsm8k"](1)
    found = {}
    for made in ("GSM8K.parquet", "gsm8k_test.jsonl", "gsm8k/main.parquet", "gsm8k/data/test.parquet", "any/x.parquet"):
        folder = tmp_path / made.replace("/", "_")
        file = write(folder / made, [row])
        found[made] = sources.local(data.find("gsm8k"), folder, alone=True) == [file]
    write(tmp_path / "shards" / "a.parquet", [row])
    write(tmp_path / "shards" / "b.parquet", [row])
    assert found == dict.fromkeys(found, True) | {"any/x.parquet": False}
    assert len(sources.local(data.find("gsm8k"), tmp_path / "shards", alone=True)) == 2
    assert sources.local(data.find("gsm8k"), tmp_path / "shards", alone=False) == []
    with pytest.raises(WrongUse, match="nowhere"):
        sources.local(data.find("gsm8k"), tmp_path / "nowhere", alone=True)


@pytest.mark.verl
def test_verl_reads_it(tmp_path: Path) -> None:
    """verl's own data set class, as its trainer makes it."""
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    file = from_file("gsm8k", write(tmp_path / "gsm8k.jsonl", [PUBLISHED["gsm8k"](n) for n in range(4)]), tmp_path).file
    config = OmegaConf.create({"filter_overlong_prompts": False, "cache_dir": str(tmp_path / "cache")})
    read = RLHFDataset([file], tokenizer=None, config=config)
    assert len(read) == 4
    assert read[2]["raw_prompt"][0]["content"].startswith("Find $x$ if $x = 2$.")
    assert (read[2]["reward_model"]["ground_truth"], read[2]["index"]) == ("2", 2)
