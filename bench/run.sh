#!/usr/bin/env bash
# Measures Weir beside its peers on one machine, one broker and the same input, one after the other, and prints a table.
#
#   make bench                           everything: about an hour
#   CELLS="weir-w3 flinkhash-w3" make bench
#   SMALL_N=1000000 BIG_N=2000000 make bench   smaller inputs
#
# A cell is PROGRAM-WORK. Programs: weir, weiryaml, limit (bare franz-go; w1, and w2 as limit-json), flink (RocksDB),
# flinkhash, kstreams, raw (w1, w3). Works: w1 pass-through, w2 JSON filter and projection, w3 running count and sum, w4
# one-minute windows. Needs Java 17 and Maven for the broker and the peers on the JVM.
set -euo pipefail
cd "$(dirname "$0")/.."

interval=${INTERVAL:-1000}
small_n=${SMALL_N:-3000000}
big_n=${BIG_N:-12000000}
repeat=${REPEAT:-1}
cells=${CELLS:-limit-w1 weir-w1 weiryaml-w1 limit-w2 weir-w2 weiryaml-w2 weir-w3 weiryaml-w3 flink-w3 flinkhash-w3 kstreams-w3
  weir-w4 weiryaml-w4 flink-w4 flinkhash-w4 kstreams-w4}
results=$PWD/bench/results
mkdir -p "$results"
csv=$results/$(date +%Y%m%d-%H%M%S).csv
peers=$PWD/bench/peers

echo "=== build"
(cd "$peers/go" && go build -o ../bin/ ./...)
go build -o "$peers/bin/kafka" ./integration/kafka
go build -o "$peers/bin/weir" ./bench/job
CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags '-s -w' -o bin/processor ./cmd/processor
case $cells in *flink*) mvn -q -B -f "$peers/java/flink/pom.xml" package ;; esac
case $cells in *kstreams*) mvn -q -B -f "$peers/java/streams/pom.xml" package ;; esac

echo "=== broker"
export BROKER_PID_FILE=$results/broker.pid
rm -f "$BROKER_PID_FILE"
"$peers/bin/kafka" -port 19092 -pid-file "$BROKER_PID_FILE" &
kafka=$!
trap 'kill "$kafka" 2>/dev/null; wait "$kafka" 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  [ -s "$BROKER_PID_FILE" ] && break
  kill -0 "$kafka" || exit 1
  sleep 0.2
done

cd "$peers"
export PEERS=$peers CSV=$csv SMALL=bench-small BIG=bench-big
echo "=== inputs: $small_n and $big_n records"
rm -f data/$SMALL.json data/$BIG.json
bin/gen -topic "$SMALL" -n "$small_n"
bin/gen -topic "$BIG" -n "$big_n"
. ./cells.sh

input() { case $1 in w1 | w2) echo "$BIG" ;; *) echo "$SMALL" ;; esac; }
go_job="-group {group} -in {in} -out {out} -interval {interval}ms -dir {dir}"
run_cell() {
  local program=${1%-*} work=${1##*-}
  case $program in
    weir) w weir "$work" "$(input "$work")" "$interval" bin/weir -work "$work" $go_job ;;
    weiryaml) w weir-yaml "$work" "$(input "$work")" "$interval" ../../bench/yaml.sh "$work" {group} {in} {out} {interval}ms {dir} ;;
    limit) if [ "$work" = w2 ]; then limitjson "$interval"; else limit "$interval"; fi ;;
    raw) if [ "$work" = w3 ]; then raww3 "$interval" snappy; else raw "$interval" snappy; fi ;;
    flink) flink "$work" "$interval" ;;
    flinkhash) flinkhash "$work" "$interval" ;;
    kstreams) if [ "$work" = w4 ]; then ksemit0 "$interval"; else ks "$work" "$interval"; fi ;;
    *) echo "unknown cell $1" >&2; return 1 ;;
  esac
}
for _ in $(seq "$repeat"); do
  for cell in $cells; do
    echo "=== $cell"
    run_cell "$cell" || echo "$cell failed"
  done
done

echo "=== $csv"
column -s, -t "$csv" 2>/dev/null || cat "$csv"
