"""The shell without a terminal: expressions, files, pipes, exit codes, the Lua of an article."""

import csv
import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.lab.lab import Lab
from admin.links.control import spoiled
from cli.shell.failures import LuaSyntax
from cli.shell.pasted import clean
from tests import typed
from tests.live import real
from tests.unit.lua import Bench

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ARTICLE = ROOT / "../shared/seeds/001_99cf7c3f9e290c9e.txt"
CPU_MAX_S = 0.8
"""Processor time of a one-shot command; on a quiet machine it is a third of that."""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with real.running_proxied(
        tmp_path_factory.mktemp("scripts") / "lab", nodes=3, node__faults="true"
    ) as found:
        yield found


def started(*args: str | Path, stdin: str = "") -> str:
    """Start `qsync ARGS` as a process, as a script does; its stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "qsync", *map(str, args)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    "lua",
    [
        "print('begun') while true do end",
        "print('begun') while true do pcall(function() while true do end end) end",
        "local f = require('fiber') print('begun') f.create(function() while true do end end)",
        "local f = require('fiber') print('begun') f.sleep(100)",
    ],
)
def test_ctrl_c_ends_a_script_whatever_its_lua_does(here: Lab, lua: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "qsync", "shell", here.dir, "-e", lua],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "begun\n"
        script.send_signal(signal.SIGINT)
        _, said = script.communicate(timeout=60)
    assert (script.returncode, said.split(":")[1]) == (130, " INTERRUPTED")


def run(here: Lab, *args: str | Path, code: int = 0, stdin: str = "") -> typed.Done:
    """`qsync shell` on the lab."""
    done = typed.run("shell", here.dir, *args, stdin=stdin)
    assert done.code == code, f"{args}: {done}"
    return done


@pytest.mark.parametrize(
    ("lua", "code", "said"),
    [
        ("while true do end", 7, "it had changed nothing"),
        ("while true do pcall(function() while true do end end) end", 7, "changed nothing"),
        ("while true do local info = box.info.ro end", 7, "it had changed nothing"),
        ("local f = require('fiber') f.create(function() while true do end end) f.sleep(9)", 7, ""),
        ("require('fiber').sleep(3600)", 7, "it had changed nothing"),
        ("box.ctl.wait_ro(3600) while true do end", 7, "it had changed nothing"),
        ("box.begin() box.space.things:delete(1) while true do end", 7, "changed nothing"),
        ("pcall(box.space.things.insert, box.space.things, 1) while true do end", 7, "nothing"),
        ("box.space.things:delete(1) while true do end", 5, "what it wrote before that stays"),
    ],
)
def test_a_time_limit_ends_a_script_whatever_its_lua_does(
    here: Lab, lua: str, code: int, said: str
) -> None:
    done = run(here, "--timeout", "1s", "-e", lua, "-e", "print('on')", code=code)
    assert done.stdout == ""
    assert "was stopped after 1s (--timeout)" in done.stderr
    assert said in done.stderr


def test_without_a_time_limit_only_each_request_has_one(here: Lab) -> None:
    waits = "box.ctl.wait_rw() local f = require('fiber') f.sleep(0.01) return 'done'"
    assert run(here, "-e", waits).stdout == "done\n"
    assert "10s for each request" in typed.run("shell", "--help").stdout


def test_an_expression_prints_its_values_one_a_line(here: Lab) -> None:
    more = ("-e", "1 + 1, 'x', nil", "-e", "box.info.replication[1].name")
    assert started("shell", here.dir, *more) == "2\nx\nnull\nn1\n"
    assert started("-e", "box.info.ro", here.dir) == "false\n"


def test_a_single_address_names_the_node_that_is_meant(here: Lab) -> None:
    for node in here.nodes:
        done = typed.run("-e", "box.info.name", node.address)
        assert (done.code, done.stdout) == (0, f"{node.name}\n")
    assert run(here, "--node", "n2", "-e", "box.info.id").stdout == "2\n"


def test_results_go_to_a_file_for_a_while(here: Lab, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    script = f"\\o {file}\nfor i = 1, 1200 do print(i) end\n'kept'\n\\o\n'shown'"
    done = run(here, stdin=script)
    assert done.stdout == "shown\n"
    assert f"1201 lines written to {file}" in done.stderr
    assert file.read_text().splitlines() == [*map(str, range(1, 1201)), "kept"]
    done = run(here, "-e", f"\\o >> {file}", "-e", "'more'")
    assert f"1 line written to {file}" in done.stderr
    assert file.read_text().splitlines()[-2:] == ["kept", "more"]
    done = run(here, "-e", f"\\o {tmp_path}/none/x", "-e", "1", code=2)
    assert "cannot be written: No such file" in done.stderr


def test_a_file_gets_all_rows_however_few_are_shown(here: Lab, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    many = "local t = {}; for i = 1, 1100 do t[i] = {id = i} end; return t"
    shown = run(here, "-e", "\\set format table", "-e", many).stdout
    assert "1000 shown" in shown
    run(here, "-e", f"\\o {file}", "-e", "\\set format table", "-e", many)
    assert file.read_text().splitlines()[-1] == "(1100 rows)"


def test_a_full_disk_ends_the_script_and_is_told(here: Lab) -> None:
    done = run(here, "-e", "\\o /dev/full", "-e", "'lost'", code=2)
    assert "/dev/full cannot be written: No space left" in done.stderr


def test_nobody_edits_in_a_script(here: Lab) -> None:
    assert "no user who could edit" in run(here, "-e", "\\e", code=1).stderr


@pytest.mark.parametrize("chunk", ["box.backup", "box.backup.start()", "box.backup.stop()"])
def test_backup_of_tarantool_is_refused_and_names_the_commands(here: Lab, chunk: str) -> None:
    done = run(here, "-e", chunk, code=1)
    assert "NOT_SUPPORTED: box.backup is not supported, and nothing was done" in done.stderr
    assert "`qsync backup create` makes a backup while the cluster runs" in done.stderr


def test_a_file_and_a_pipe_end_with_what_they_return(here: Lab, tmp_path: Path) -> None:
    file = tmp_path / "chunk.lua"
    file.write_text("local n = 0\nfor i = 1, 3 do n = n + i end\nprint('sum')\nreturn n\n")
    assert run(here, "-f", file).stdout == "sum\n6\n"
    assert started("shell", here.dir, "-f", "-", stdin="return 7") == "7\n"
    lines = "x = 1\n\nx + 1\nfor i = 1, 2 do\nprint(i)\nend\n\\set format lua\n{x}\n"
    assert started("shell", here.dir, stdin=lines) == "2\n1\n2\n{1}\n"
    assert run(here, stdin="").stdout == ""


def test_machines_get_documents_and_nothing_else_on_stdout(here: Lab) -> None:
    done = run(here, "--json", "-e", "print('aside')", "-e", "{1, {}}, 'x'")
    assert json.loads(done.stdout) == {"schema": "qsync/shell/1", "values": [[1, {}], "x"]}
    assert done.stderr == "aside\n"
    rows = ("-o", "jsonl", "-e", "box.space.things:select({7}, {limit = 1})")
    run(here, "-e", "box.space.things:delete(7)")
    assert run(here, *rows).stdout == ""
    run(here, "-e", "box.space.things:replace{7, 'a'}")
    assert run(here, *rows).stdout == '{"id": 7, "value": "a"}\n'
    refused = run(here, "--json", "-e", "error('no')", code=1)
    assert json.loads(refused.stdout)["code"] == "LUA"


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("x = = 1", 2, "LUA_SYNTAX"),
        ("error('boo')", 1, "boo"),
        ("os.exit()", 1, "the shell's Lua has no os"),
        ("box.space.thing:get(1)", 1, "did you mean the space 'things'?"),
        ("box.space.things:insert{'x', 'y'}", 1, "WRONG_TUPLE"),
        ("box.space.things:insert{1, 'a'} box.space.things:insert{1, 'a'}", 1, "DUPLICATE_KEY"),
        ("box.ctl.wait_ro(0.1)", 7, "TIMED_OUT"),
        ("box.begin() box.begin()", 4, "TRANSACTION"),
        ("box.cfg{replication_synchro_quorum = 'N +'}", 2, "nothing was changed"),
        ("box.cfg{read_onyl = true}", 2, 'did you mean "read_only"?'),
        ("netbox.connect('127.0.0.1:1')", 3, "UNAVAILABLE"),
    ],
)
def test_the_first_error_ends_a_script_with_its_exit_code(
    here: Lab, source: str, code: int, said: str
) -> None:
    assert said in run(here, "-e", source, "-e", "print('not reached')", code=code).stderr


def test_a_read_only_shell_sends_no_write(here: Lab) -> None:
    for source in ("box.space.things:delete(1)", "box.ctl.promote()", "box.cfg{read_only = true}"):
        assert "--read-only" in run(here, "--read-only", "-e", source, code=4).stderr
    assert run(here, "--read-only", "-e", "box.cfg.read_only").stdout == "false\n"


def test_production_wants_to_be_told_that_it_is_meant(tmp_path: Path) -> None:
    with real.running(tmp_path / "prod", nodes=1, cluster__tag="production-eu") as found:
        with qsync.connect(found.addresses) as db:
            db.schema.create_space("s")
        done = run(found, "-e", "box.space.s:truncate()", code=7)
        assert "Deletes all tuples of space s (0 now)." in done.stderr
        run(found, "--yes", "-e", "box.space.s:drop()")


def test_a_transaction_of_lua_is_one_transaction(here: Lab) -> None:
    run(
        here,
        "-e",
        "box.schema.create_space('acc', {if_not_exists = true, is_sync = true,"
        " format = {{'id', 'unsigned'}, {'sum', 'integer'}}}):create_index('pk')",
    )
    source = """
    local acc = box.space.acc
    acc:replace{1, 100}
    acc:replace{2, 0}
    local ok, e = pcall(box.atomic, function()
        acc:update(1, {{'-', 'sum', 150}})
        if acc:get(1).sum < 0 then error('too little') end
    end)
    box.atomic({is_sync = true}, function()
        acc:update(1, {{'-', 'sum', 30}})
        acc:update(2, {{'+', 'sum', 30}})
    end)
    return ok, tostring(e), acc:select(), acc.index.pk:max().sum, #acc:select({}, {limit = 1})
    """
    lines = run(here, "-e", source).stdout.splitlines()
    assert lines[0] == "false"
    assert lines[1].endswith("too little")
    assert lines[2:] == ["[[1, 70], [2, 30]]", "30", "1"]


def test_a_one_shot_command_starts_without_an_event_loop_and_fast(here: Lab) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert started("shell", here.dir, "-e", "box.info.ro") == "false\n"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < CPU_MAX_S
    code = (
        "import sys\nimport cli.main\n"
        f"code = cli.main.run(['-e', 'box.info.ro', {str(here.dir)!r}])\n"
        "heavy = {'trio', 'anyio', 'asyncio', 'prompt_toolkit', 'rich', 'yaml', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)), code)"
    )
    args = [sys.executable, "-c", code]
    done = subprocess.run(args, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == ["false", "[] 0"]


# ------------------------------------------------------------------------------------ an article

SNIPPETS = {
    "alter": "box.space[name]:alter({is_sync = true})",
    "create": "box.schema.create_space(name, {is_sync = true})",
    "one space": """sync = box.schema.create_space(
        ‘stest’, {is_sync = true}
    ):create_index(‘pk’)
    -- a comment
    sync:replace{1}

    box.begin()
    sync:replace{2}
    sync:replace{3}
    box.commit()""",
    "two spaces": """async = box.schema.create_space(
        ‘atest’, {is_sync = false}
    ):create_index(‘pk’)
    box.begin()
    sync:replace{5}
    async:replace{6}
    box.commit()""",
    "options": """box.cfg{
        replication_synchro_quorum = <count or expression>,
        replication_synchro_timeout = <seconds>,
        memtx_use_mvcc_engine = <boolean>
    }""",
    "connection": """c = netbox.connect(host)
    c:begin()
    c.space.test1:replace{100}
    c.space.test2:delete({5})
    c:commit()""",
    "lazy": """box.begin()
    box.space.test1:replace{100}
    box.commit({is_lazy = true})

    box.begin()
    box.space.test2:replace{200}
    box.space.test3:replace{300}
    box.commit({is_lazy = true})""",
    "one-liners": """box.ctl.clear_synchro_queue()
    box.commit({is_sync= true})
    return box.info.vclock, box.info.synchro, box.info.replication""",
}
"""What people write who know the field, with the quotes that publishing gives it."""


def prelude(here: Lab, number: int) -> str:
    """What the snippets take for granted: a name, a host, and spaces."""
    made = "\n".join(
        f"box.schema.create_space('{name}', {{if_not_exists = true}})"
        f":create_index('pk', {{if_not_exists = true}})"
        for name in ("old", "test1", "test2", "test3")
    )
    return f"{made}\nname = 'new{number}'\nhost = '{here.addresses[0]}'"


def fresh(here: Lab) -> None:
    """No space that a snippet makes is there."""
    drops = "\n".join(
        f"if box.space.{name} then box.space.{name}:drop() end"
        for name in ("stest", "atest", "test", "new1", "new2")
    )
    run(here, "-e", drops)


def test_what_people_write_runs_as_it_is(here: Lab) -> None:
    fresh(here)
    sources: list[str] = ["-e", prelude(here, 1), "-e", "name = 'old'"]
    for name, source in SNIPPETS.items():
        if name == "create":
            sources += ["-e", "name = 'new1'"]
        sources += ["-e", source]
    done = run(here, *sources)
    synchro = json.loads(done.stdout.splitlines()[-2])
    assert synchro["quorum"] == 2
    assert "a placeholder keeps what is set" in done.stderr
    after = "return box.space.old.is_sync, box.space.new1.is_sync, box.space.stest:len()"
    assert run(here, "-e", after).stdout == "true\ntrue\n4\n"
    rows = "box.space.test1:select(), box.space.test2:select(), box.space.test3:select()"
    assert run(here, "-e", rows).stdout == "[[100]]\n[[200]]\n[[300]]\n"


def blocks(text: str) -> list[str]:
    """The code blocks of an article: below a line "Lua", as many paragraphs as are a chunk."""
    compile_ = Bench().runtime.compile
    found: list[str] = []
    for part in re.split(r"(?m)^(?=Lua[^\S\n]*\n)", text)[1:]:
        block = ""
        for paragraph in re.split(r"\n\s*\n", part):
            longer = f"{block}\n\n{paragraph}" if block else paragraph
            try:
                compile_(clean(longer).text, "=article")
            except LuaSyntax:
                break
            block = longer
        found.append(block)
    return found


@pytest.mark.skipif(not ARTICLE.exists(), reason="the article is not beside the repository")
def test_every_snippet_of_the_article_runs_verbatim(here: Lab, tmp_path: Path) -> None:
    found = blocks(ARTICLE.read_text("utf-8"))
    assert len(found) == 9
    assert all(found)
    fresh(here)
    sources: list[str | Path] = ["-e", prelude(here, 2), "-e", "name = 'old'"]
    for number, block in enumerate(found):
        if number == 1:
            sources += ["-e", "name = 'new2'"]
        sources += ["-e", block]
    done = run(here, *sources)
    assert "typographic quotes were read as plain ones" in done.stderr
    for call in ("box.ctl.clear_synchro_queue()", "box.commit({is_sync= true})"):
        assert call in ARTICLE.read_text("utf-8")
        run(here, "-e", call)
    found_rows = "box.space.stest:select(), box.space.atest:select(), box.space.test.is_sync"
    assert run(here, "-e", found_rows).stdout == "[[1], [2], [3], [5]]\n[[6]]\ntrue\n"


REFUSED = {
    "box.begin{is_sync = 1}": "box.begin: is_sync is true or false, not 1",
    "box.commit{is_sync = 'foo'}": "box.commit: is_sync is true or false, not 'foo'",
    "box.commit{is_lazy = 1}": "box.commit: is_lazy is true or false",
    "box.begin{txn_isolation = 'foo'}": "box.begin: there is no txn_isolation 'foo'",
    "box.begin{txn_isolation = 5}": "box.begin: there is no txn_isolation 5",
    "box.begin{txn_isolation = 1}": "no transaction reads unconfirmed data",
    "box.begin{txn_isolation = 'read-committed'}": "no transaction reads unconfirmed data",
    "box.atomic({is_sync = 1}, print)": "box.begin: is_sync is true or false",
    "box.schema.create_space('x', {is_sync = 1})": "is_sync is true or false, not 1",
    "box.schema.create_space('x', {temporary = true})": "there are no temporary or local ones",
    "box.schema.create_space('x', {type = 'temporary'})": "there are no temporary or local ones",
    "box.schema.create_space('x', {engine = 'vinyl'})": "there is no engine 'vinyl'",
    "box.schema.create_space('x', {user = 'ann'})": "there are no users",
    "box.space.things:create_index('h', {type = 'HASH'})": "there is no index type 'HASH'",
    "box.ctl.replica_gc('nobody')": "NO_SUCH_MEMBER",
    "box.space.things:insert({81, 'a'}, {timeout = 1})": "insert has no options, and so",
    "box.space.things:put({81, 'a'}, {is_async = true})": "replace has no options",
    "box.space.things:update(81, {{'=', 2, 'b'}}, {timeout = 1})": "update has no options",
    "box.space.things:upsert({81, 'a'}, {{'=', 2, 'b'}}, {timeout = 1})": "upsert has no options",
    "box.space.things:delete(81, {timeout = 1})": "delete has no options",
}


def test_what_cannot_be_had_is_refused_and_not_ignored(here: Lab) -> None:
    calls = [f"select(2, pcall(function() return {each} end))" for each in REFUSED]
    done = run(here, *[word for call in calls for word in ("-e", call)])
    for words, said in zip(REFUSED.values(), done.stdout.splitlines(), strict=True):
        assert words in said
    taken = (
        "box.begin{txn_isolation = 'best-effort', is_sync = false} box.commit{is_lazy = false}",
        "box.schema.create_space('plain', {engine = 'memtx', temporary = false})",
        "box.space.plain:create_index('pk', {type = 'TREE'})",
        "box.space.things:replace({81, 'a'}, nil) box.space.things:delete(81, 'as Tarantool', {})",
    )
    run(here, *[word for call in taken for word in ("-e", call)])


def test_the_format_of_a_space_is_read_and_changed(here: Lab) -> None:
    done = run(
        here,
        *("-e", "box.schema.create_space('shaped', {format = {{'id', 'unsigned'}}})"),
        *("-e", "box.space.shaped:format()[1].name"),
        *("-e", "box.space.shaped:format({{'id', 'unsigned'}, {'sum', 'integer'}})"),
        *("-e", "box.space.shaped:format()[2].name"),
    )
    assert done.stdout.splitlines()[-2:] == ["id", "sum"]


def test_an_error_ends_the_open_transaction_and_says_so(here: Lab) -> None:
    done = run(
        here,
        *("-e", "box.begin()"),
        *("-e", "box.space.things:replace{71, 'half'}"),
        *("-e", "error('no')"),
        code=1,
    )
    assert "the open transaction was rolled back, with 1 operation\n" in done.stderr
    assert run(here, "-e", "box.space.things:get(71)").stdout == "null\n"
    caught = "pcall(error, 'no') box.space.things:replace{72, 'whole'} box.commit()"
    run(here, "-e", "box.begin()", "-e", caught)
    assert "whole" in run(here, "-e", "box.space.things:get(72)").stdout


def test_leaving_with_an_open_transaction_says_what_is_lost(here: Lab) -> None:
    done = run(here, "-e", "box.begin()", "-e", "box.space.things:replace{73, 'lost'}")
    assert "the open transaction was not committed: 1 operation lost" in done.stderr
    assert run(here, "-e", "box.space.things:get(73)").stdout == "null\n"


USES = ROOT / "tests/unit/tarantool_uses.csv"
"""What Tarantool's own tests of replication call, how often, and what the shell does about it.

Two sums were counted before names were kept one by one. Each counts as long as it has at least as
many names of its own (`group`) as it says, and every one of them is the same or refused.
"""
FITS_MIN = 0.95
"""Share of all uses that do the same here, or are refused in words."""
USES_IN_ALL = 5433
"""As they were counted, modules of Lua among them: none may be left out."""
PROBE = """
local told, address = {}, box.session.peer()
box.ctl.promote()
box.schema.space.create('uses', {if_not_exists = true}):create_index('pk', {if_not_exists = true})
box.cfg{read_only = true}
local _, readonly = pcall(box.space.things.replace, box.space.things, {1, 'a'})
local ro_reason = box.info.ro_reason
box.cfg{read_only = false}
box.ctl.promote()
box.ctl.wait_rw(10)
local known = {
    readonly = readonly, address = address, ro_reason = ro_reason, other = box.info.id % 3 + 1,
}
for _, each in ipairs(require('json').decode(probes)) do
    local env = setmetatable({}, {__index = function(_, name)
        if known[name] ~= nil then return known[name] end
        return _G[name]
    end})
    local f = load('return ' .. each.probe, '=probe', 't', env)
    f = f or load(each.probe, '=probe', 't', env)
    local ok, e = pcall(f)
    told[each.name] = ok and 'same' or type(e) == 'table' and e.hint and e.name or tostring(e)
    if box.is_in_txn() then box.rollback() end
end
return told
"""
WORD = re.compile(r"(?!(?:box|cfg|space|index|same|true|require)\b)\b\w{3,}")
REFUSALS = {"NOT_SUPPORTED", "WRONG_SCHEMA", "CONFIG", "WRONG_OPERATION", "WRONG_KEY"}


def test_what_tarantools_tests_call_is_the_same_or_refused_in_words(here: Lab) -> None:
    with USES.open() as file:
        uses = list(csv.DictReader(file))
    tried = [each for each in uses if each["verdict"] != "sum"]
    probes = json.dumps([{"name": each["name"], "probe": each["probe"]} for each in tried])
    done = run(
        here, "--node", "n1", "--json", "-f", "-", stdin=f"probes = [==[{probes}]==]\n{PROBE}"
    )
    (told,) = json.loads(done.stdout)["values"]
    wrong = {
        each["name"]: told[each["name"]]
        for each in tried
        if (each["verdict"] == "refused") != (told[each["name"]] in REFUSALS)
        or (each["verdict"] == "same") > (told[each["name"]] == "same")
    }
    assert wrong == {}, json.dumps(wrong, indent=1)
    kept = [each for each in tried if each["verdict"] in {"same", "refused"}]
    for each in kept:  # what is tried is what is named
        assert any(word in each["probe"] for word in WORD.findall(each["name"])), each["name"]
    for each in uses:
        fits = {one["name"] for one in tried if one["group"] == each["name"] and one in kept}
        named = re.fullmatch(r".*: (\d+) names", each["name"])
        if each["verdict"] == "sum" and named is not None and len(fits) >= int(named.group(1)):
            each["verdict"] = "same"
    assert sum(int(each["uses"]) for each in uses) == USES_IN_ALL
    fit = sum(int(each["uses"]) for each in uses if each["verdict"] in {"same", "refused"})
    assert fit / USES_IN_ALL >= FITS_MIN


def test_an_injection_of_the_relay_spoils_the_links_of_the_node(here: Lab) -> None:
    """As long as it is set; and a link that was spoiled otherwise is none of it."""

    def inject(name: str, value: str) -> dict[str, str]:
        run(here, "--node", "n1", "-e", f"box.error.injection.set('{name}', {value})")
        return {str(each.link): each.rule.describe() for each in spoiled(here.control.show())}

    mine = ("n1>n2", "n1>n3", "n2>n1", "n3>n1")
    assert inject("ERRINJ_RELAY_TIMEOUT", "0.001") == dict.fromkeys(mine, "delay 0.001 s")
    assert inject("ERRINJ_RELAY_SEND_DELAY", "true") == dict.fromkeys(mine, "cut")
    assert inject("ERRINJ_RELAY_SEND_DELAY", "false") == {}
    spoil = "box.error.injection.set('ERRINJ_RELAY_TIMEOUT', 61)"
    assert "is 0 to 60 seconds" in run(here, "-e", spoil, code=1).stderr
    unknown = "box.error.injection.set('ERRINJ_RELAY_FINAL_SLEEP', true)"
    assert "`qsync lab cut A B`" in run(here, "-e", unknown, code=1).stderr


WATCHED = """
local seen = {}
local watcher = box.watch('box.status', function(_, value) seen[#seen + 1] = value.is_ro_cfg end)
box.cfg{read_only = true}
box.ctl.wait_ro(10)
box.cfg{read_only = false}
while #seen < 3 do require('fiber').sleep(0.01) end
watcher:unregister()
return seen
"""


def test_watchers_of_a_script_are_called_while_it_waits(here: Lab) -> None:
    done = run(here, "--node", "n2", "--json", "-e", WATCHED)
    (seen,) = json.loads(done.stdout)["values"]
    assert (seen[0], seen[-1], True in seen) == (False, False, True)


FIBERS = """
local fiber = require('fiber')
local order, done = {}, fiber.channel(2)
local writer = fiber.new(function()
    box.begin()
    box.space.things:replace{30, 'of a fiber'}
    fiber.sleep(0)
    box.commit()
    done:put(box.space.things:get(30).value)
end)
assert(not box.is_in_txn())
fiber.create(function() order[#order + 1] = 'at once' fiber.yield() order[#order + 1] = 'later' end)
order[#order + 1] = 'main'
local value = done:get(30)
local last = fiber.create(function() box.begin() box.space.things:replace{31, 'never'} end)
while last:status() ~= 'dead' do fiber.yield() end
return order, value, writer:status(), box.space.things:get(31)
"""


def test_fibers_take_turns_and_have_transactions_of_their_own(here: Lab) -> None:
    done = run(here, "--json", "-e", FIBERS)
    value = json.loads(done.stdout)["values"]
    assert value == [["at once", "main", "later"], "of a fiber", "dead", None]
    assert "its transaction of 1 was rolled back" in done.stderr


LEFT_OPEN = """
local fiber = require('fiber')
local began = fiber.channel(1)
fiber.create(function() box.begin() began:put(true) fiber.sleep(3600) end)
began:get(30)
"""


def test_the_transaction_of_a_fiber_that_outlives_its_script_is_not_lost_in_silence(
    here: Lab,
) -> None:
    assert "its transaction of 0 was rolled back" in run(here, "-e", LEFT_OPEN).stderr


SAVEPOINTS = """
local s, told = box.space.things, {}
box.begin()
s:replace{40, 'kept'}
local point = box.savepoint()
s:replace{41, 'dropped'}
box.rollback_to_savepoint(point)
box.on_commit(function() told[#told + 1] = 'committed' end)
box.commit()
box.begin()
box.on_rollback(function() told[#told + 1] = 'rolled back' end)
local ok, e = pcall(box.rollback_to_savepoint, point)
box.rollback()
local first = box.once('savepoints', function() return 'ran' end)
local again = box.once('savepoints', function() return 'ran' end)
return s:get(40).value, s:get(41), told, ok, e.name, first, again
"""


def test_savepoints_triggers_of_a_transaction_and_once(here: Lab) -> None:
    done = run(here, "--json", "-e", SAVEPOINTS)
    assert json.loads(done.stdout)["values"] == [
        *("kept", None, ["committed", "rolled back"], False, "TRANSACTION", "ran", None)
    ]


def test_injections_of_tarantool_arm_fault_points(here: Lab) -> None:
    source = """
    local i = box.error.injection
    i.set('ERRINJ_WAL_DELAY', true)
    local armed = i.get('ERRINJ_WAL_DELAY')
    i.set('ERRINJ_WAL_DELAY', false)
    return armed, i.get('ERRINJ_WAL_DELAY'), i.info().ERRINJ_WAL_IO.state
    """
    assert run(here, "-e", source).stdout.split() == ["true", "false", "false"]
