#!/bin/sh
# A scenario over many seeds as a Slurm array: sbatch slurm.sh, then `conclave merge outcomes/*.jsonl`.
# All tasks must run the same program: put one copy where every machine sees it. A task that failed is submitted again
# by its number: sbatch --array=17 slurm.sh
#SBATCH --job-name=conclave
#SBATCH --array=1-64
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
set -eu
PARTS=64 # as many as the array has, also where one task runs again
mkdir -p outcomes
export RAYON_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
exec conclave campaign --hours 100000 --seed 1 --shard "$SLURM_ARRAY_TASK_ID/$PARTS" --outcomes "outcomes/$SLURM_ARRAY_TASK_ID.jsonl"
