#!/bin/sh
# A campaign as a Slurm array: sbatch slurm.sh, then `conclave merge outcomes/*.jsonl`.
# All tasks must run the same program: put one copy where every machine sees it. A task whose machine is lost runs again
# elsewhere; one that failed is submitted again by its number: sbatch --array=17 slurm.sh
# Other work in other parts: sbatch --array=1-8 --export=ALL,PARTS=8,WORK='run storm --seeds 0..10000' slurm.sh
#SBATCH --job-name=conclave
#SBATCH --array=1-64
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
#SBATCH --requeue
set -eu
PARTS="${PARTS:-64}" # as many as the array has, also where one task runs again
WORK="${WORK:-campaign --hours 100000 --seed 1}"
mkdir -p outcomes
export RAYON_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
# shellcheck disable=SC2086 # the work is several words
exec conclave $WORK --shard "$SLURM_ARRAY_TASK_ID/$PARTS" --outcomes "outcomes/$SLURM_ARRAY_TASK_ID.jsonl"
