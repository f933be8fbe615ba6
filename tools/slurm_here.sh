#!/usr/bin/env bash
# Be a Slurm cluster on this machine for as long as one command runs, to try batch scripts with:
#
#   tools/slurm_here.sh 'sbatch job.sh; squeue; bash'             # two machines, n1 and n2
#   NODES=3 CPUS=2 GPUS=1 tools/slurm_here.sh 'sbatch job.sh; bash'
#
# Needs root, and Debian's packages slurmctld, slurmd, slurm-client, munge and iproute2. Each machine has processes, a
# network address, a host name, /tmp and /dev/shm of its own, so that what is started on one is not seen on another; the
# other disks are shared, as in a cluster. GPUS: so many pretended ones for each, which exist for Slurm and Ray only.
# PROCTRACK: how a machine finds a job's processes; proctrack/linuxproc loses those whose parent is gone.
# Jobs of the partition "urgent" have those of "batch" requeued. Everything ends with the command. A job sees /tmp of
# its machine only: put its script, weights and runs elsewhere.
set -euo pipefail

NODES=${NODES:-2} CPUS=${CPUS:-1} GPUS=${GPUS:-0} PROCTRACK=${PROCTRACK:-proctrack/linuxproc}
NET=10.55.0

if [ "${1:-}" != --inside ]; then
  folder=$(mktemp -d /var/tmp/slurm.XXXX)
  trap 'rm -rf "$folder"' EXIT
  unshare --mount --net --pid --uts --fork --kill-child --mount-proc "$0" --inside "$folder" "$@"
  exit
fi

folder=$2 command=$3
export SLURM_CONF=$folder/slurm.conf

configure() {
  echo "127.0.0.1 localhost" > "$folder/hosts"
  echo "$NET.254 control" >> "$folder/hosts"
  for i in $(seq "$NODES"); do echo "$NET.$i n$i" >> "$folder/hosts"; done
  cat > "$SLURM_CONF" <<END
ClusterName=here
SlurmctldHost=control
SlurmUser=root
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/control.pid
SlurmctldLogFile=$folder/control.log
SlurmdSpoolDir=$folder/%n
SlurmdPidFile=$folder/%n.pid
SlurmdLogFile=$folder/%n.log
ProctrackType=$PROCTRACK
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=n[1-$NODES] CPUs=$CPUS Gres=gpu:$GPUS
PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 GraceTime=0
PartitionName=urgent Nodes=ALL PriorityTier=2
END
  : > "$folder/gres.conf"
  for i in $(seq "$GPUS"); do
    mknod "$folder/gpu$i" c 1 3 # another /dev/null
    echo "Name=gpu File=$folder/gpu$i" >> "$folder/gres.conf"
  done
}

# What a machine does: be one, and wait for work.
machine() {
  hostname "n$1"
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  ip link set lo up
  until ip link show eth0 > /dev/null 2>&1; do sleep 0.1; done
  ip addr add "$NET.$1/24" dev eth0
  ip link set eth0 up
  slurmd -D -N "n$1" -f "$SLURM_CONF" 2> /dev/null & # its log says the same
  wait $!
}

start() {
  hostname control
  mount --bind "$folder/hosts" /etc/hosts
  ip link set lo up
  ip link add bridge0 type bridge
  ip addr add "$NET.254/24" dev bridge0
  ip link set bridge0 up
  dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none
  chmod 600 "$folder/munge.key"
  chmod 755 "$folder"
  munged --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" --pid-file "$folder/munge.pid" \
    --log-file "$folder/munge.log" --seed-file "$folder/munge.seed"
  mkdir "$folder/state"
  export -f machine
  export NET
  for i in $(seq "$NODES"); do
    mkdir "$folder/n$i"
    unshare --mount --net --pid --uts --fork --kill-child --mount-proc bash -c "machine $i" &
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
    ip link add "to$i" type veth peer name eth0 netns $!
    ip link set "to$i" master bridge0 up
  done
  slurmctld -D -f "$SLURM_CONF" > "$folder/control.out" 2>&1 &
  until [ "$(sinfo --noheader --states idle --format %D 2> /dev/null)" = "$NODES" ]; do sleep 0.5; done
}

configure
start
bash -c "$command"
