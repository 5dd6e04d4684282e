# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 100,000 reports through Spark with two executors, one of which is killed: the counts must be right (not in CI)
need_build openjdk-17-jre-headless=java python3 python3-dev python3-venv clang-19 lld-19 llvm-19
configure_in check
make_in check all

# There the package of these sources is installed, too.
venv=$(python_tools spark 'pyspark>=4,<5 pyarrow pandas<3')
patiently "$top/build/lanes/fleet-pip.log" "$venv/bin/pip" install -q --force-reinstall "$top/bindings/python"

unspool=$top/build/check/tools/unspool
work=$top/build/fleet
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit
# Make Spark listen on loopback only.
export SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$venv/bin/python SPARK_LOCAL_DIRS=$work/spark
# Where musl is installed beside glibc (the lane musl installs it), snappy-java, Spark's default for Parquet, loads its
# library for musl, which does not load.
cluster=(--master 'local-cluster[2,1,1024]' --conf spark.sql.shuffle.partitions=2 --conf spark.sql.files.maxPartitionBytes=8m
  --conf spark.sql.parquet.compression.codec=gzip
  --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
  --conf 'spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC')

# with_log COMMAND...: shows the command's standard error when it fails.
with_log() {
  "$@" 2>spark.log || {
    tail -n 60 spark.log
    exit 1
  }
}

# counts_of FOLDER OUTPUT: compares the counts with those of make_reports.py.
counts_of() { "$venv/bin/python" "$top/tests/fleet/check_counts.py" "$2" "$1/truth.json"; }

# job FOLDER OUTPUT: sets the arguments that follow spark-submit's own.
job() {
  words=("$top/contrib/spark/fleet.py" "$1/reports" "$2" "$1/store")
}

for folder in even hot different; do
  options=()
  if [[ $folder == hot ]]; then options=(--hot 0.9); fi
  if [[ $folder == different ]]; then options=(--different); fi
  python3 "$top/tests/fleet/make_reports.py" "$folder" --reports "${USP_FLEET_REPORTS:-100000}" "${options[@]}"
  "$unspool" index --quiet -o "$folder/store" "$folder/files"
done

echo "one process"
"$venv/bin/python" "$top/contrib/spark/one_process.py" even/reports one.parquet even/store
counts_of even one.parquet
for folder in "$work/even" "$work/hot" "$work/different"; do
  echo "Spark, two executors: $(basename "$folder")"
  job "$folder" "$folder.parquet"
  with_log "$venv/bin/spark-submit" "${cluster[@]}" "${words[@]}"
  counts_of "$folder" "$folder.parquet"
done
echo "Spark, an executor is killed"
job "$work/even" "$work/killed.parquet"
with_log "$venv/bin/python" "$top/tests/fleet/kill_executor.py" "$venv/bin/spark-submit" "${cluster[@]}" "${words[@]}"
counts_of even killed.parquet

# Measures this many rounds, if requested.
if [[ -n ${USP_FLEET_ROUNDS-} ]]; then
  for folder in even hot different; do
    echo "figures: $folder"
    "$venv/bin/python" "$top/tests/fleet/measure.py" "$work/$folder" "$venv/bin/spark-submit" "$unspool" "$USP_FLEET_ROUNDS"
  done
fi
rm -rf "$work" "$venv"/lib/python*/site-packages/pyspark/work
