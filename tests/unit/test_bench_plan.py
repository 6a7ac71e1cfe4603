"""How much a benchmark keeps under way."""

from admin.workload.bench import OPEN_LOOP_OUTSTANDING_MAX, BenchPlan, outstanding
from qsync.client.core import INFLIGHT_MAX
from qsync.config import NodeConfig


def test_a_closed_loop_has_what_it_was_asked_for_under_way() -> None:
    assert outstanding(BenchPlan(clients=3, pipeline=256)) == 256


def test_an_open_loop_has_no_more_under_way_than_a_client_and_a_session_take() -> None:
    one = outstanding(BenchPlan(clients=1, rate=1e5))
    assert one == INFLIGHT_MAX < NodeConfig.load(None, {}).limits.session_outcomes_max
    assert outstanding(BenchPlan(clients=1000, rate=1e5)) == OPEN_LOOP_OUTSTANDING_MAX // 1000
