"""Reading files record by record: JSON lines, JSON arrays in pieces, parquet."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategies import WrongUse
from suites.replay import files
from suites.replay.files import BadRecord, records, sources

RECORDS = st.lists(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=30)), max_size=8)


def all_of(path):
    return [record for _, record in records(path, list, lambda _: None)]


@given(RECORDS, st.sampled_from([None, 1, 3]), st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_array_reads_the_same_in_pieces_of_any_size(tmp_path, monkeypatch, written, indent, piece):
    monkeypatch.setattr(files, "PIECE", piece)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(written, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert all_of(path) == written


@given(RECORDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_lines_read_as_written(tmp_path, written):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in written), encoding="utf-8")
    assert all_of(path) == written


def test_places_are_lines_of_the_file(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n\n7\n{"a": \n', encoding="utf-8")
    found = dict(records(path, list, lambda _: None))
    assert list(found) == ["line 1", "line 3", "line 4"]
    assert isinstance(found["line 3"], BadRecord)
    assert isinstance(found["line 4"], BadRecord)
    array = tmp_path / "log.json"
    array.write_text('[\n{"a": 1},\n\n{"a":\n 2}, 7]', encoding="utf-8")
    assert [where for where, _ in records(array, list, lambda _: None)] == ["line 2", "line 4", "line 5"]


def test_a_json_file_of_lines_is_read_as_lines(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    assert all_of(path) == [{"a": 1}, {"a": 2}]


def test_a_byte_order_mark_is_no_part_of_the_log(tmp_path):
    for name, text in (("log.jsonl", '{"a": 1}\n'), ("log.json", '[{"a": 1}]')):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8-sig")
        assert all_of(path) == [{"a": 1}]


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a"', '[{"a": 1}', '[{"a": 1}, oops]'])
def test_an_array_that_breaks_off_is_refused_even_where_bad_records_are_skipped(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WrongUse, match=r"log\.json, line 1: .*can't be read any further"):
        all_of(path)


def test_parquet_is_read_in_the_columns_asked_for(tmp_path):
    path = tmp_path / "log.parquet"
    pd.DataFrame({"a": range(1000), "b": "text", "c": [[0.5]] * 1000}).to_parquet(path)
    told = []
    found = list(records(path, lambda names: told.extend(names) or ["a", "c"], lambda _: None))
    assert told == ["a", "b", "c"]
    assert found[0] == ("row 1", {"a": 0, "c": [0.5]})
    assert found[-1] == ("row 1000", {"a": 999, "c": [0.5]})


def test_a_folder_gives_its_logs_in_natural_order(tmp_path):
    for name in ("10.jsonl", "2.jsonl", "1.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in sources([tmp_path])] == ["1.jsonl", "2.jsonl", "10.jsonl"]


def test_all_bytes_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIECE", 64)
    read = []
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n' * 100, encoding="utf-8")
    list(records(path, list, read.append))
    assert sum(read) == path.stat().st_size
    assert len(read) > 5
