#!/bin/sh
# Collects evidence from a cluster and checks it; for cron, systemd and the like.
# Its exit code: 0 everything holds, 6 something is broken or undecided, 3 no node answers,
# another one: it could not be done. A report stays for each time that was not 0.
set -u
target=${1:?"usage: scheduled-check.sh TARGET DIR [OPTION OF qsync check]..."}
dir=${2:?"usage: scheduled-check.sh TARGET DIR [OPTION OF qsync check]..."}
shift 2

mkdir -p "$dir" || exit 2
# The former dump is continued: what was confirmed then is not read again.
qsync dump "$target" --out "$dir/evidence" || exit $?
qsync check "$dir/evidence" --html "$dir/latest.html" --json "$@" > "$dir/latest.json"
code=$?
if [ "$code" -ne 0 ]; then
  stamp=$(date -u +%Y%m%dT%H%M%SZ)
  cp -r "$dir/evidence" "$dir/evidence-$stamp"
  [ ! -f "$dir/latest.html" ] || cp "$dir/latest.html" "$dir/report-$stamp.html"
  echo "qsync check ended with $code: $dir/report-$stamp.html, $dir/evidence-$stamp" >&2
fi
exit "$code"
