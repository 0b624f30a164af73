#!/usr/bin/env bash
# Measures Weir beside its peers on one machine, one broker and the same input, one after the other, and prints tables.
# docs/performance.md says what is measured and how to repeat it.
#
#   make bench                                             everything: about ten minutes on two cores
#   CELLS="limit weir-w1" make bench                       some cells of the table
#   FIGURES="pause recovery" make bench                    some of the other figures
#   CELLS="weir-w3" SMALL_N=1000000 make bench             smaller inputs
#
# Cells: limit raw weir-w1 weir-yaml-w1 flink-w1 kstreams-w1, limit-json weir-w2 weir-yaml-w2 flink-w2 kstreams-w2,
#        weir-w3 weir-yaml-w3 flink-w3 flinkhash-w3 kstreams-w3 raw-w3, and the same of w4 but for raw.
# Figures: pause recovery start memory allocs. With one of CELLS and FIGURES given, the other is empty.
#
#   REPEAT=3       every cell three times, in rounds      INTERVAL=1000  checkpoint or commit interval of the cells, ms
#   BIG_N          records for w1, w2 and recovery (12 M)  SMALL_N        records for w3, w4 and allocs (3 M)
#   KEYS_N, KEYS   records (20 M) and keys (1 M) for pause KILLS=5        kills of recovery
#   WEIR_FLAGS     flags for the Go job ("-parallelism 2", as the JVM peers have it)
#   YAML_FLAGS     flags for the YAML job ("--set parallelism=2")
#   RESULTS        prefix of the result files, to add to an earlier run (bench/results/<date>)
#
# Needs Linux, Go, Java 17 and Maven; port 19092 is the broker's, since the peers have it built in.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
peers=$root/bench/peers

if [ -z "${CELLS+x}${FIGURES+x}" ]; then
  CELLS="limit weir-w1 weir-yaml-w1 raw limit-json weir-w2 weir-yaml-w2
    weir-w3 weir-yaml-w3 flink-w3 flinkhash-w3 kstreams-w3 raw-w3
    weir-w4 weir-yaml-w4 flink-w4 flinkhash-w4 kstreams-w4"
  FIGURES="pause recovery start memory allocs"
fi
cells=${CELLS-} figures=${FIGURES-}
interval=${INTERVAL:-1000}
big_n=${BIG_N:-12000000} small_n=${SMALL_N:-3000000} keys_n=${KEYS_N:-20000000} keys=${KEYS:-1000000}

mkdir -p bench/results
results=$(realpath -m "${RESULTS:-bench/results/$(date +%Y%m%d-%H%M%S)}")

# has WORD LIST: whether one of the words in the list matches the pattern.
has() { local w; for w in $2; do case $w in $1) return 0 ;; esac; done; return 1; }

echo "=== build"
(cd "$peers/go" && go build -o ../bin/ ./...)
CGO_ENABLED=0 go build -trimpath -o "$peers/bin/" ./bench/weir ./bench/figures ./integration/kafka
CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags '-s -w' -o "$peers/bin/" ./cmd/processor
if has 'flink*' "$cells"; then mvn -q -B -f "$peers/java/flink/pom.xml" package; fi
if has 'kstreams*' "$cells"; then mvn -q -B -f "$peers/java/streams/pom.xml" package; fi

{
  date -u '+%Y-%m-%d'
  sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
  echo "$(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo), Linux $(uname -r)"
  echo "$(go env GOVERSION), Weir $(git describe --always --dirty 2>/dev/null || echo unknown)"
  echo "Kafka 4.4.0, one broker on the same machine"
} >"$results-machine.txt"

echo "=== broker"
export BROKER_PID_FILE=$results-broker.pid
rm -f "$BROKER_PID_FILE"
"$peers/bin/kafka" -port 19092 -pid-file "$BROKER_PID_FILE" &
kafka=$!
trap 'kill "$kafka" 2>/dev/null; wait "$kafka" 2>/dev/null; rm -f "$BROKER_PID_FILE"' EXIT
until [ -s "$BROKER_PID_FILE" ]; do
  kill -0 "$kafka" 2>/dev/null || exit 1
  sleep 0.2
done

cd "$peers"
export PEERS=$peers CSV=$results-cells.csv SMALL=bench-small BIG=bench-big
# More flags for watch; cells.sh wants it to be set.
WX=${WX-}
. ./cells.sh

echo "=== inputs"
input() { rm -f "data/$1.json"; bin/gen -topic "$1" -n "$2" -users "${3:-200000}"; }
if has '*w[34]' "$cells" || has allocs "$figures"; then input "$SMALL" "$small_n"; fi
if has 'limit*' "$cells" || has raw "$cells" || has '*w[12]' "$cells" || has recovery "$figures"; then input "$BIG" "$big_n"; fi
if has pause "$figures"; then input bench-keys "$keys_n" "$keys"; fi

weir() {
  local in=$SMALL
  case $1 in w[12]) in=$BIG ;; esac
  w weir "$1" "$in" "$interval" bin/weir -work "$1" -in {in} -out {out} -group {group} -interval {interval}ms -dir {dir} ${WEIR_FLAGS--parallelism 2}
}
weir_yaml() {
  local in=$SMALL
  case $1 in w[12]) in=$BIG ;; esac
  w weir-yaml "$1" "$in" "$interval" bin/processor run "../jobs/$1.yaml" --address off --set kafka.brokers=127.0.0.1:19092 --set job={group} \
    --set source.events.topics={in} --set sink.out.topic={out} --set checkpoint.interval={interval}ms \
    --set checkpoint.storage={dir}/state --set checkpoint.local_dir={dir}/local ${YAML_FLAGS---set parallelism=2}
}
cell() {
  local work=${1##*-}
  case $1 in
    limit) limit "$interval" ;;
    limit-json) limitjson "$interval" ;;
    raw) raw "$interval" lz4 ;;
    raw-w3) raww3 "$interval" lz4 ;;
    weir-w[1-4]) weir "$work" ;;
    weir-yaml-w[1-4]) weir_yaml "$work" ;;
    flink-w[1-4]) flink "$work" "$interval" ;;
    flinkhash-w[34]) flinkhash "$work" "$interval" ;;
    kstreams-w4) ksemit0 "$interval" ;; # with its defaults the output is wrong
    kstreams-w[1-3]) ks "$work" "$interval" ;;
    *) echo "no cell $1" >&2; return 1 ;;
  esac
}
failed=0
echo "=== warm-up"
# A new broker makes its internal topics at the first transaction, which limit does not wait for; and its JVM is cold.
input bench-warm 500000
bin/watch -label warm-up -work w1 -in bench-warm -csv /dev/null -- bin/weir -work w1 -in {in} -out {out} -group {group} -interval {interval}ms -dir {dir}
for round in $(seq "${REPEAT:-1}"); do
  for c in $cells; do
    echo "=== $c (round $round)"
    cell "$c" || { echo "$c failed" >&2; failed=1; }
  done
done
if [ -e "$CSV" ] && grep -q '"WRONG' "$CSV"; then
  echo "an output is wrong: the logs are in bench/peers/logs" >&2
  failed=1
fi

cd "$root"
if [ -n "$figures" ]; then
  echo "=== figures"
  "$peers/bin/figures" -only "$figures" -csv "$results-figures.csv" -dir bench/results/figures -keys "$keys" -kills "${KILLS:-5}" || failed=1
fi

echo "=== $results"
go run ./bench/report "$results"
echo
echo "into the document: go run ./bench/report -doc docs/performance.md ${results#"$root/"}"
exit $failed
