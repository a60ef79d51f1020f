"""Files, samples, walks and batches have the same bits on every machine: these are the hashes of x86-64 on Linux."""

import json

import platform_hashes


def test_this_machine_makes_the_same_bits_as_all_others():
    found = platform_hashes.platform_hashes()
    assert platform_hashes.differences(found, json.loads(platform_hashes.GOLDEN.read_text())) == []


def test_what_differs_is_named():
    assert platform_hashes.differences({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == ["b", "c"]
