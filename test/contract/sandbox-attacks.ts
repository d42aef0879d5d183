/** What a hostile command tries. The table in site/validation-and-sandbox.md lists the sandboxes with `held`. */
export interface Attack {
  readonly name: string;
  /** Perl, which every machine with git has; prints `reached` when the attack got through. */
  readonly program: string;
  /** By the sandbox's name. `counted`: where control groups are delegated, and not elsewhere. */
  readonly bubblewrap: 'held' | 'counted';
  readonly weak: 'held' | 'counted' | 'open';
  /** How the run ends; without it the attack fails and the command goes on. */
  readonly ends?: 'memory' | 'signal';
}

type Numbers = readonly [x64: number, arm64: number];

function call([x64, arm64]: Numbers, args: string): string {
  return `syscall(${process.arch === 'arm64' ? arm64 : x64}${args === '' ? '' : `, ${args}`})`;
}

/** Succeeds when the call gives back something other than -1. */
function reaches(numbers: Numbers, args: string): string {
  return `print ${call(numbers, args)} == -1 ? "no: $!\\n" : "reached\\n";`;
}

function opensSocket(family: number, type: number): string {
  return `print socket(my $s, ${family}, ${type}, 0) ? "reached\\n" : "no: $!\\n";`;
}

const megabyte = 'my $mb = "x" x 1048576;';
const stay = '$| = 1; print "reached\\n"; sleep 30;';

export const attacks: readonly Attack[] = [
  {
    name: 'add to the keyring of the user who runs Core',
    program: reaches([248, 217], 'my $type = "user", my $name = "core-attack", my $value = "x", 1, -4'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'find the session keyring of Core',
    program: reaches([250, 219], '0, -3, 0'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'a socket to the host of a virtual machine (AF_VSOCK)',
    program: opensSocket(40, 1),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: "a socket to the kernel's cryptography (AF_ALG)",
    program: opensSocket(38, 5),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'a kernel program (bpf)',
    program: reaches([321, 280], '0, my $attributes = pack("L4 x56", 2, 4, 4, 1), 72'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'a ring of system calls past the filter (io_uring)',
    program: reaches([425, 425], '1, my $parameters = "\\0" x 120'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'page faults handled by the program (userfaultfd)',
    program: reaches([323, 282], '1'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'performance counters (perf_event_open)',
    program: reaches([298, 241], 'my $attributes = pack("L2 Q x96", 1, 112, 0), 0, -1, -1, 0'),
    bubblewrap: 'held',
    weak: 'open',
  },
  {
    name: 'a file system of its own (fsopen)',
    program: reaches([430, 430], 'my $type = "tmpfs", 0'),
    bubblewrap: 'held',
    weak: 'held',
  },
  {
    name: 'a user namespace of its own (unshare)',
    program: reaches([272, 97], String(0x10000000)),
    bubblewrap: 'held',
    weak: 'held',
  },
  {
    name: 'packets of the machine (AF_PACKET)',
    program: opensSocket(17, 3),
    bubblewrap: 'held',
    weak: 'held',
  },
  {
    name: 'another kernel (kexec_load)',
    program: reaches([246, 104], '0, 0, 0, 0'),
    bubblewrap: 'held',
    weak: 'held',
  },
  {
    name: 'memory files past the memory limit (memfd_create)',
    program: `${megabyte} my @all; for (1 .. 48) { open(my $f, ">&=", ${call([319, 279], 'my $name = "x", 0')}); syswrite($f, $mb) for 1 .. 32; push @all, $f; } ${stay}`,
    bubblewrap: 'held',
    weak: 'held',
    ends: 'memory',
  },
  {
    name: 'memory in pipe buffers past the memory limit',
    program: `${megabyte} my @all; for (1 .. 1500) { pipe(my $r, my $w) or last; fcntl($w, 1031, 1048576); fcntl($w, 4, 2049); syswrite($w, $mb); push @all, $r, $w; } ${stay}`,
    bubblewrap: 'counted',
    weak: 'counted',
    ends: 'memory',
  },
  {
    name: 'memory in shared segments past the memory limit (shmget)',
    program: `${megabyte} my $id = shmget(0, 1536 * 1048576, 0600 | 01000); shmwrite($id, $mb, $_ * 1048576, 1048576) for 0 .. 1535; ${stay}`,
    bubblewrap: 'counted',
    weak: 'counted',
    ends: 'memory',
  },
  {
    name: 'many files past the disk limit',
    program: `${megabyte} for my $n (1 .. 160) { open(my $f, ">", "f$n"); syswrite($f, $mb); } ${stay}`,
    bubblewrap: 'held',
    weak: 'held',
    ends: 'signal',
  },
  {
    name: 'deleted files past the disk limit',
    program: `${megabyte} my @all; for my $n (1 .. 160) { open(my $f, ">", "f"); unlink "f"; syswrite($f, $mb); push @all, $f; } ${stay}`,
    bubblewrap: 'held',
    weak: 'held',
    ends: 'signal',
  },
  {
    name: 'a large file past the disk limit',
    program: `${megabyte} $SIG{XFSZ} = "IGNORE"; open(my $f, ">", "f"); for (1 .. 160) { (syswrite($f, $mb) // 0) == 1048576 or do { print "no: $!\\n"; exit; }; } ${stay}`,
    bubblewrap: 'held',
    weak: 'held',
  },
];
