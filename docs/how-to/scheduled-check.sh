#!/bin/sh
# Collects evidence from a cluster and checks it; for cron, systemd and the like.
# Its exit code: 0 everything holds, 6 something is broken or undecided, 3 a node does not answer,
# another one: it could not be done. A report stays for each time that was not 0, if there is one.
set -u
target=${1:?"usage: scheduled-check.sh TARGET DIR [OPTION OF qsync check]..."}
dir=${2:?"usage: scheduled-check.sh TARGET DIR [OPTION OF qsync check]..."}
shift 2

mkdir -p "$dir" || exit 2
# The former dump is continued: what was confirmed then is not read again.
qsync dump "$target" --out "$dir/evidence" || exit $?
rm -f "$dir/latest.html" # of another time
qsync check "$dir/evidence" --html "$dir/latest.html" --json "$@" > "$dir/latest.json"
code=$?
if [ "$code" -ne 0 ]; then
  stamp=$(date -u +%Y%m%dT%H%M%SZ)
  cp -r "$dir/evidence" "$dir/evidence-$stamp"
  kept="$dir/evidence-$stamp"
  if [ -f "$dir/latest.html" ]; then
    cp "$dir/latest.html" "$dir/report-$stamp.html"
    kept="$dir/report-$stamp.html, $kept"
  fi
  echo "qsync check ended with $code: $kept" >&2
fi
exit "$code"
