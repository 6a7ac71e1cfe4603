"""Scale curves: points become medians, tables and a picture; large values are sent in pieces."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.bench.peers import curve_picture, curves
from tests.bench.peers.etcd_wire import EtcdWire
from tests.bench.peers.scaling import Axis, ScaleCurves, ScalePoint, rate_of
from tests.bench.peers.workloads import Measured, Operation, PeerWorkload, workload_named
from tests.unit.test_peer_comparison import DATA, HEADERS, SETTINGS, WINDOW, frame, sent

KEY = b"k" * 16


def measured(rate: float) -> Measured:
    return Measured(ops_per_second=rate, p50_ms=1.5, p99_ms=2, client_us=1, servers_us=1)


def some() -> ScaleCurves:
    found = ScaleCurves()
    for who, factor in (("qsync", 3), ("etcd", 1)):
        for axis in Axis:
            for at in (100, 1_000_000):
                for rate in (1_000.0, 5_000.0, 2_000.0):
                    point = ScalePoint(axis=axis, at=at, who=who, run=measured(rate * factor))
                    found.add(point)
    return found


def test_a_point_is_the_median_of_its_runs() -> None:
    assert some().curve(Axis.KEYS, "qsync", rate_of) == [(100, 6_000.0), (1_000_000, 6_000.0)]


def test_tables_hold_every_point_and_who_could_not() -> None:
    found = some()
    found.refuse("etcd", "clients 1,000", "no room")
    text = "\n".join(found.markdown())
    assert text.count("| 1,000,000 | 6,000 (1.50 ms) | 2,000 (1.50 ms) |") == len(Axis)
    assert "etcd, clients 1,000: no room" in text


def test_points_of_an_earlier_run_are_drawn_with_those_of_this_one() -> None:
    earlier, found = some(), ScaleCurves(versions={"qsync": "2"})
    earlier.conditions = {"command": "curves", "machine": "big"}
    earlier.versions = {"qsync": "1", "etcd": "3"}
    earlier.refuse("etcd", "clients 1,000", "no room")
    found.take(json.loads(json.dumps(earlier.as_json())))
    assert found.points == earlier.points
    assert found.refused == earlier.refused
    assert found.versions == {"qsync": "2", "etcd": "3"}
    assert found.conditions == {"also `curves`": "big"}


def test_the_picture_has_a_panel_for_each_curve_and_a_line_for_each_contestant() -> None:
    drawn = ET.fromstring(curve_picture.svg(some()))
    lines = [each for each in drawn.iter() if each.tag.endswith("polyline")]
    dots = [each for each in drawn.iter() if each.tag.endswith("circle")]
    assert len(lines) == 2 * len(Axis)
    assert len(dots) == 4 * len(Axis)
    assert all(0 <= float(dot.attrib["cx"]) <= 380 for dot in dots)
    assert all(0 <= float(dot.attrib["cy"]) <= 250 for dot in dots)


def test_one_point_can_be_drawn() -> None:
    found = ScaleCurves()
    found.add(ScalePoint(axis=Axis.NODES, at=3, who="qsync", run=measured(10)))
    ET.fromstring(curve_picture.svg(found))


@pytest.mark.parametrize("values", [curves.SHORT, curves.LONG])
def test_every_point_has_a_workload_that_can_be_named(values: dict[Axis, tuple[int, ...]]) -> None:
    for axis in Axis:
        for value in values[axis]:
            workload = curves.workload_at(axis, value)
            assert workload_named(workload.name) == workload
    assert PeerWorkload(Operation.PUT, 64, 1).name == "put 64x1"


def test_a_large_value_goes_in_frames_as_far_as_its_stream_has_room() -> None:
    wire = EtcdWire()
    sent(wire)
    wire.feed(frame(WINDOW, 0, 0, (1 << 24).to_bytes(4, "big")))
    large = wire.ask(Operation.PUT, [KEY], b"v" * 200_000)
    small = wire.ask(Operation.PUT, [KEY], b"v")
    first = sent(wire)
    assert all(len(payload) <= 16_384 for _, _, _, payload in first)
    assert sum(len(each[3]) for each in first if each[:1] + each[2:3] == (DATA, large)) <= 65_535
    assert [each[2] for each in first if each[0] == HEADERS] == [large, small]
    assert [each[2] for each in first if each[0] == DATA and each[1] & 1] == [small]
    wire.feed(frame(WINDOW, 0, large, (1 << 20).to_bytes(4, "big")))
    rest = sent(wire)
    whole = b"".join(each[3] for each in first + rest if (each[0], each[2]) == (DATA, large))
    assert whole.count(b"v") == 200_000
    assert rest[-1][1] == 1
    assert not any(each[1] & 1 for each in rest[:-1])


def test_a_server_may_give_new_streams_more_room() -> None:
    wire = EtcdWire()
    wire.feed(frame(WINDOW, 0, 0, (1 << 24).to_bytes(4, "big")))
    wire.feed(frame(SETTINGS, 0, 0, (4).to_bytes(2, "big") + (1 << 20).to_bytes(4, "big")))
    sent(wire)
    wire.ask(Operation.PUT, [KEY], b"v" * 200_000)
    assert sent(wire)[-1][1] == 1
