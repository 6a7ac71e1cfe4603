"""Why each error happens and what to do about it, in full sentences: `qsync explain`."""

from collections.abc import Mapping
from typing import NamedTuple


class ErrorHelp(NamedTuple):
    """`why`: what usually brings it about. `do`: the next step."""

    why: str
    do: str


ERROR_HELP: Mapping[str, ErrorHelp] = {
    "INTERNAL": ErrorHelp(
        "A mistake of qsync itself, or an error of a newer release that this one has no name for.",
        "Look at the node's log. Report it with the message, and keep the directory.",
    ),
    "NOT_LEADER": ErrorHelp(
        "The request went to a follower, or an election is under way.",
        "Send it to `error.leader`. Clients of this library do so by themselves; `qsync status` "
        "shows who leads. If there is no leader for long, bring back a majority of the voters.",
    ),
    "READONLY": ErrorHelp(
        "The node leads but its PROMOTE is not confirmed yet, or it was demoted, is handing over, "
        "is fenced, cannot write to its disk, or is set read-only.",
        "`qsync status` names the reason and what lifts it; a new leader needs a quorum of acks.",
    ),
    "QUORUM_TIMEOUT": ErrorHelp(
        "Too few voters made the transaction durable within `replication.synchro_timeout`.",
        "It is safe to send it again. `qsync doctor` and `qsync status` show which voters did "
        "not ack.",
    ),
    "OUTCOME_UNKNOWN": ErrorHelp(
        "The connection broke after sending, or no quorum decided before the deadline.",
        "Repeat the request with its token (the command prints how; `db.resolve(error.token)`, "
        "`\\retry` in the shell): it is applied at most once, and the answer is its outcome. "
        "`qsync resolve TOKEN` (`\\resolve`) finds the outcome without repeating it: if it was not "
        "applied, it is cancelled for good. Without the token it may be applied twice. Never "
        "treat it as failed.",
    ),
    "CLIENT_CLOSED": ErrorHelp(
        "The program used a client after `close()`, or behind its `with` block.",
        "Connect again, or keep the block open for as long as the client is used.",
    ),
    "GIVEN_UP": ErrorHelp(
        "The outcome of the write was resolved (`qsync resolve TOKEN`) before any attempt of it "
        "was applied, which cancels it.",
        "Nothing was written and nothing will be. Send it again, without the token, if you want "
        "it.",
    ),
    "ROLLED_BACK": ErrorHelp(
        "The leader rolled its limbo back, or a new leader did not have the transaction.",
        "Run the transaction again, from its reads.",
    ),
    "CONFLICT": ErrorHelp(
        "Another transaction changed something that this one had read, or a condition did not "
        "hold.",
        "Run the transaction again, from its reads. If it happens often, make it smaller.",
    ),
    "SPLIT_BRAIN": ErrorHelp(
        "A disk lost writes that it had flushed, a directory was copied or restored by hand, or a "
        "quorum below a majority was allowed.",
        "Keep both directories. Compare them with `qsync log cat`, decide which is right, wipe the "
        "other node and let it catch up.",
    ),
    "ACCESS_DENIED": ErrorHelp(
        "A user lacks a right (`details` name it and the space), has not logged in or has a wrong "
        "password; or a member does not know the cluster's secret.",
        "`qsync user show` prints your user and privileges; a user with role super grants more "
        "(`qsync user grant`). QSYNC_USER and QSYNC_PASSWORD select the user to log in as. All "
        "members need the same secret: `qsync init` puts it into the file `secret`.",
    ),
    "OVERLOADED": ErrorHelp(
        "A limit is reached: too many requests are waiting (inflight_max, a full limbo), or too "
        "many connections or sessions are open (connections_max, sessions_max, "
        "sessions_per_user_max).",
        "Wait `details['retry_after']` seconds and send it again; send less at a time.",
    ),
    "SYNC_QUEUE_FULL": ErrorHelp(
        "The quorum is slower than the writers, and the request asked not to wait.",
        "Send it again later, or let it wait; `qsync doctor` shows whose disk or link is slow.",
    ),
    "UNAVAILABLE": ErrorHelp(
        "No node runs there, or the network is cut.",
        "`details['nodes']` has the error of each address. Check the addresses, then the nodes.",
    ),
    "UNANSWERED": ErrorHelp(
        "Nodes answered, but there is no leader, no quorum answers a linearizable read, or they "
        "are too slow for the deadline.",
        "`qsync status` shows what is missing. Read with consistency local, or wait longer.",
    ),
    "LOST_WRITE": ErrorHelp(
        "The write was asynchronous: it was answered, and its leader was replaced before another "
        "node had it. Or the place is of another cluster, as before a restore or a recovery.",
        "Read the space without the receipt; a feed begins anew, as after COMPACTED. "
        "`box.info.lost` and the archive of the node that had it keep the write.",
    ),
    "SESSION_EXPIRED": ErrorHelp(
        "The client was silent for longer than `limits.session_ttl`, or the session was closed.",
        "Open a new session. Only the data shows the outcome of an old request.",
    ),
    "NO_SUCH_SPACE": ErrorHelp(
        "The name is misspelt, or the space was dropped or not created yet.",
        "The error suggests a similar name. Create it, or read the schema again.",
    ),
    "NO_SUCH_INDEX": ErrorHelp(
        "The name is misspelt, or the space has no primary index yet.",
        "Create the index, or use one that the error suggests.",
    ),
    "SPACE_EXISTS": ErrorHelp("It was created before.", "Give `if_not_exists`, or another name."),
    "DUPLICATE_KEY": ErrorHelp(
        "An insert met a tuple with the same key in a unique index.",
        "Use replace or upsert to overwrite it; the error names the index.",
    ),
    "WRONG_TUPLE": ErrorHelp(
        "A field has another type than the format says, or is missing.",
        "The error names the field and the type: send that, or alter the format.",
    ),
    "WRONG_KEY": ErrorHelp(
        "The key has more parts than the index, or of another type.",
        "Give the parts of the index in their order.",
    ),
    "WRONG_OPERATION": ErrorHelp(
        "Arithmetic on a text, an unknown operator, or a field that is not there.",
        "Use one of = + - & | ^ # ! : on a field that suits it.",
    ),
    "WRONG_SCHEMA": ErrorHelp(
        "The definition contradicts itself or the tuples that are there.",
        "The error names what does not fit; nothing was changed.",
    ),
    "TOO_LARGE": ErrorHelp(
        "A tuple, transaction or message is over its limit.",
        "Split it, or raise the limit that the error names on all nodes.",
    ),
    "COMPACTED": ErrorHelp(
        "The reader of the log was away for longer than the log is kept, or held too much of it.",
        "Note `confirmed` of the status, then read the space, and watch after that index. After "
        "`db.consumers.register` the log is kept; `qsync member gc list` shows for whom.",
    ),
    "PROTOCOL": ErrorHelp(
        "Something that is not a qsync client connected to the port, or client and node disagree.",
        "Check which programs listen on and connect to the port; keep client and node at the "
        "same release.",
    ),
    "WRONG_VERSION": ErrorHelp(
        "Client and node, or two nodes, are of releases too far apart.",
        "Upgrade the older one; nodes one release at a time.",
    ),
    "FOREIGN_CLUSTER": ErrorHelp(
        "`cluster.id` differs, an address in `peers` is of another cluster, two directories "
        "run under one replica id, a node shows a client the certificate of another one, or a "
        "client is of a cluster that was recovered or restored as another one.",
        "Compare the configurations with `qsync config diff`; stop one of the two. A client "
        "connects anew, over TLS with a certificate of the new cluster.",
    ),
    "NOT_MEMBER": ErrorHelp(
        "The configuration in the log names no member with this id: it was removed, or waits to be "
        "added.",
        "`qsync member list` shows the members; `qsync member add ADDRESS` adds the node that "
        "waits there.",
    ),
    "TLS": ErrorHelp(
        "One side speaks TLS and the other does not, or a certificate is missing, expired, of "
        "somebody else, or signed by an authority that the other side does not know.",
        "`qsync cert check FILE` checks a certificate; connect to a node that has `tls` in its "
        "configuration as `qsyncs://HOST/`, with the authority, your certificate and its key.",
    ),
    "STORE": ErrorHelp(
        "The directory is missing, of another owner, or on a file system without what is needed.",
        "The error names path and reason; repair that and start the node again.",
    ),
    "DIRECTORY_LOCKED": ErrorHelp(
        "Another process of this node still runs.", "Stop it first; `qsync lab ps` for a lab."
    ),
    "WRONG_FORMAT": ErrorHelp(
        "The directory was written by a newer release.", "Start it with that release."
    ),
    "DAMAGED": ErrorHelp(
        "A disk or memory fault, or the files were edited.",
        "The node sets the log aside and catches up before it votes again. Check the disk; "
        "`qsync log verify DIR` shows where.",
    ),
    "DISK_FULL": ErrorHelp(
        "The file system is full, a quota is reached, or a file would exceed `ulimit -f`.",
        "Free some space, or raise the limit; the node continues by itself.",
    ),
    "DIRECTORY_GONE": ErrorHelp(
        "The volume was detached, or the directory was moved, removed or replaced.",
        "Attach the volume again and the node continues; otherwise stop it. It writes nowhere "
        "else.",
    ),
    "SNAPSHOT_LOST": ErrorHelp(
        "All rows were being read as they were at one index, and the file they are in had to grow "
        "before the end, which ends every such view. Nothing is wrong with them.",
        "Begin again. The file has twice the room now, so this becomes rare by itself.",
    ),
    "DISK_UNREADABLE": ErrorHelp(
        "A cable, a storage network, or a worn-out sector. The node does not start without its "
        "log, which holds its votes and acks, and leaves it unchanged.",
        "Start it again when the disk answers. If the disk is lost, move `DIR/log` away: the node "
        "comes back as a new instance, and catches up as with an empty disk.",
    ),
    "REBUILDING": ErrorHelp(
        "A disk or memory fault in `DIR/data`, or the rows were stored by an earlier release.",
        "Wait: the rows are rebuilt from the log, and other nodes answer meanwhile. Check the "
        "disk.",
    ),
    "CONFIG": ErrorHelp(
        "An option is unknown, or its value is not possible or does not fit another one.",
        "Each line names the place, the option, the reason, and often the word that was meant. "
        "`qsync config check` validates a file; nothing was changed.",
    ),
    "NOT_RUNNING": ErrorHelp("The node was stopped or killed before.", "`qsync lab start NODE`."),
    "STILL_RUNNING": ErrorHelp(
        "Its files are in use.", "`qsync lab kill NODE` first; then repeat the command."
    ),
    "NO_SUCH_LAB": ErrorHelp(
        "It was removed, has another name, or lives in a directory of its own.",
        "`qsync lab up` makes one; give --name or --dir.",
    ),
    "LAB_EXISTS": ErrorHelp(
        "A lab of that name was made before.",
        "`qsync lab up` without --nodes starts it again; `qsync lab down` removes it.",
    ),
    "DIRECTORY_NOT_EMPTY": ErrorHelp(
        "An earlier run wrote there, or the path is a mistake. Nothing was changed: no command "
        "overwrites a directory or adds to one.",
        "Name a new directory, or remove what is there if you need it no more.",
    ),
    "DEMO_NOT_HEALED": ErrorHelp(
        "The machine is very busy, or a node could not start again.",
        "Run it with --keep DIR and look at the logs there.",
    ),
    "NO_EVIDENCE": ErrorHelp(
        "The folder has no manifest.json, a file of it is missing or damaged, or a newer version "
        "wrote it.",
        "The message names the file; collect it (again) with `qsync dump TARGET... --out DIR`.",
    ),
    "NO_BACKUP": ErrorHelp(
        "The place does not exist, belongs to something else, or holds no finished backup, or none "
        "of that name.",
        "`qsync backup list DEST` shows what is there; `qsync backup create DEST` makes one.",
    ),
    "BACKUP_DAMAGED": ErrorHelp(
        "A file of the backup was changed or removed: by a disk, a transfer or a person. A "
        "backup is never restored in part.",
        "`qsync backup verify DEST` names every file. Put them back from a copy of the place, or "
        "restore another backup of it: `--backup INDEX`, or an earlier `--to-index`.",
    ),
    "BACKUP_GAP": ErrorHelp(
        "The point lies before the oldest backup, behind the newest log that is kept, or in a "
        "stretch whose log was never kept.",
        "`qsync backup list DEST` shows the points that can be restored. "
        "`qsync backup archive DEST` keeps all of the log, so that there are no such stretches.",
    ),
    "FOREIGN_BACKUP": ErrorHelp(
        "The place was begun by another cluster; a cluster that was restored is another one, too.",
        "Give each cluster a place of its own.",
    ),
    "BACKUP_KEY": ErrorHelp(
        "The place is sealed, and no key or another one was given; or a key was given and the "
        "place is not sealed, as after somebody has put another one there.",
        "`--key-file FILE`, `--ask-key`, or QSYNC_BACKUP_KEY_FILE: the key that the place was "
        "created with. Without it the backups cannot be read.",
    ),
    "BACKUP_PLACE": ErrorHelp(
        "The folder or the service where backups are kept did not answer, or refused.",
        "Repeat the command when the place is available: it continues from what is there.",
    ),
    "SUPERSEDED": ErrorHelp(
        "`qsync recover` made a new cluster of this one, and this node has met it, or is the "
        "survivor. It serves nothing any more and does not start; its directory is kept for a "
        "post-mortem.",
        "Use the new cluster. To add this machine to it: `qsync init DIR --join TARGET` with an "
        "empty directory, start the node, `qsync member add`.",
    ),
    "OLD_COPY": ErrorHelp(
        "An old copy of the directory was put back; another node knows of a later start of it.",
        "Start the node again: as a new instance it takes all from the leader, and its place.",
    ),
    "DIRECTORY_COPIED": ErrorHelp(
        "The files were copied (`cp`, `rsync`, `tar`): lives.json is younger than it says.",
        "`qsync start DIR --moved` if nothing ran on the original since, else `--new-instance`.",
    ),
    "RECOVERY_REFUSED": ErrorHelp(
        "Recovery from one survivor may lose entries that others have, and must not be done while "
        "they run.",
        "`qsync recover DIR` prints how much would be lost, and which member is the best survivor.",
    ),
    "NO_JAVA": ErrorHelp(
        "There is no Java 17 or 21 on this machine, and the extra is not installed.",
        "pip install 'qsync-cluster[spark]', or set JAVA_HOME.",
    ),
    "NO_SPARK": ErrorHelp(
        "Nothing listens at the address, executors lack Python packages or do not see the bundle, "
        "or Spark did not start, or is missing where one process has too little memory.",
        "Read the message and the log that it names; `qsync check --quick` works without Spark.",
    ),
    "NO_FREE_PORT": ErrorHelp(
        "Too many processes listen on this machine.", "Stop some, or run fewer nodes."
    ),
    "TIMED_OUT": ErrorHelp(
        "The operation needs a quorum, a leader, or more time.",
        "Wait longer, or run `qsync doctor` to see what is missing. Nothing was changed.",
    ),
    "NOT_CAUGHT_UP": ErrorHelp(
        "A new node has to have the whole log before it counts. It takes long to receive, or the "
        "node and the leader do not reach each other; the message says which.",
        "Wait: `qsync member list` shows when it is a voter. If it does not get there, `qsync "
        "member remove` takes it out, and `qsync doctor` says what is in the way.",
    ),
    "NO_SUCH_MEMBER": ErrorHelp(
        "No member has this uuid: it is mistyped, or of a directory that is gone.",
        "`box.info.replication` has the uuid of every member.",
    ),
    "STILL_CONNECTED": ErrorHelp(
        "The log is kept for every member that is connected.", "Stop that node first, then repeat."
    ),
    "TRANSACTION": ErrorHelp(
        "`begin` inside a transaction, or a use of one that is over: it was committed, was rolled "
        "back, or timed out.",
        "Commit or roll back the open one; begin another one. In Python `error.outcome` says what "
        "became of the one that is over.",
    ),
    "NOT_SUPPORTED": ErrorHelp(
        "qsync lacks this part of Tarantool, or it would need Lua in the nodes. Nothing was done.",
        "The message says what to use instead; `qsync help come-from-tarantool` lists what is "
        "missing.",
    ),
    "LUA": ErrorHelp(
        "The chunk ended in an error of Lua's, or of its own `error(...)`.",
        "The message names the line. What was written before it stays written.",
    ),
    "LUA_SYNTAX": ErrorHelp(
        "The chunk is not Lua 5.4.", "The message names the place; nothing of it was run."
    ),
    "INTERRUPTED": ErrorHelp(
        "Ctrl-C, while no write was in progress.", "Nothing was changed; run it again."
    ),
    "INTERRUPTED_UNKNOWN": ErrorHelp(
        "Ctrl-C, while a write or another change was in progress: it may be made or not. Or "
        "`--timeout` ended a script that had written.",
        "Read it back before you repeat it: a command says which one shows it. The interactive "
        "shell prints the outcome when it is known.",
    ),
    "NOT_INSTALLED": ErrorHelp(
        "The shell needs libraries that are an optional extra of the package.",
        "Run pip install 'qsync-cluster[shell]'.",
    ),
    "CHECK_FAILED": ErrorHelp(
        "The check did not pass: degraded, inconsistent, or an expectation missed.",
        "The message names the problem; `qsync doctor` names the fix.",
    ),
    "USAGE": ErrorHelp(
        "A command, an option or an argument is misspelt, missing or out of range.",
        "The message names it; `qsync COMMAND --help` shows the usage, with examples.",
    ),
    "NO_FILE": ErrorHelp(
        "The file does not exist, its permissions forbid it, or the disk is full. If only the "
        "output of a command cannot be written, the command may have done what it should: then "
        "the exit code is 5.",
        "Name another place, or make that one readable and writable.",
    ),
    "STOPPED": ErrorHelp(
        "A guard or `--timeout` stopped the command before it changed anything.",
        "Remove the reason that it names, or allow more time, and run it again.",
    ),
    "NOT_HEALED": ErrorHelp(
        "A fault that was injected could not be undone.",
        "Repair what the message names by hand before you continue.",
    ),
    "DRILL_STOPPED": ErrorHelp(
        "A guard refused it, a stop condition was met, or the time limit was reached.",
        "Look at the report. If the guard is too strict for this cluster, change the drill's file.",
    ),
    "DRILL_NOT_HEALED": ErrorHelp(
        "A node does not start or does not catch up, or the machine is very busy.",
        "`qsync drill heal` again; then `qsync doctor` and the nodes' logs.",
    ),
    "DRILL_RUNS": ErrorHelp(
        "Another drill is running on this lab, or one was killed and left faults behind.",
        "Wait for it or interrupt it; run `qsync drill heal` if its process is gone.",
    ),
    "DRILL_STEP_FAILED": ErrorHelp(
        "A step failed, or the condition that it waits for was not met in time.",
        "The report shows the step and the status of the nodes at that time.",
    ),
    "HOOK_FAILED": ErrorHelp(
        "A command of the file of hooks could not be run, ended with another code than 0, or took "
        "longer than its timeout.",
        "The report has the command as it was run and the end of what it said. Run it by hand, put "
        "the hook right, then `qsync drill heal --hooks FILE` if something is still broken.",
    ),
    "NO_ANSWER": ErrorHelp(
        "The connection broke, or the node was slower than the timeout.",
        "`qsync status` shows who leads now; then decide whether to repeat it.",
    ),
}
"""By code, for every error that there is."""
