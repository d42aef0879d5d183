/**
 * A seccomp filter (classic BPF, see seccomp(2)) against system calls that a build or a test never needs and that have been
 * ways out of namespaces. A second wall: without capabilities and user namespaces most of them fail already.
 */
interface Machine {
  /** AUDIT_ARCH_…, from linux/audit.h. */
  readonly audit: number;
  /** Numbers from here on belong to another calling convention of the same machine (x32). */
  readonly foreignFrom: number | null;
  readonly clone: number;
  readonly ioctl: number;
  readonly forbidden: readonly number[];
}

/**
 * In this order: bpf, perf_event_open, userfaultfd, keyctl, add_key, request_key, kexec_load, kexec_file_load, init_module,
 * finit_module, delete_module, open_by_handle_at, mount, umount2, pivot_root, chroot, setns, unshare, syslog, acct, swapon, swapoff,
 * reboot, quotactl, kcmp, settimeofday, clock_settime.
 */
const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    foreignFrom: 0x40000000,
    clone: 56,
    ioctl: 16,
    forbidden: [
      321, 298, 323, 250, 248, 249, 246, 320, 175, 313, 176, 304, 165, 166, 155, 161, 308, 272, 103, 163, 167,
      168, 169, 179, 312, 164, 227,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    foreignFrom: null,
    clone: 220,
    ioctl: 29,
    forbidden: [
      280, 241, 282, 219, 217, 218, 104, 294, 105, 273, 106, 265, 40, 39, 41, 51, 268, 97, 116, 89, 224, 225,
      142, 60, 272, 170, 112,
    ],
  },
};

/** The same on every machine: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, quotactl_fd. */
const forbiddenEverywhere = [428, 429, 430, 431, 432, 433, 442, 443];
/**
 * clone3 and io_uring_setup, _enter and _register: their arguments cannot be inspected. Programs take ENOSYS as an older
 * kernel and use what came before.
 */
const absent = [435, 425, 426, 427];

const CLONE_NEWUSER = 0x10000000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_OR_EQUAL = 0x35;
const JUMP_BITS_SET = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const EPERM = 0x00050000 | 1;
const ENOSYS = 0x00050000 | 38;

/** Offsets in struct seccomp_data; of an argument the low half, both machines being little-endian. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const ARGUMENT = [16, 24];

/** The filter as bwrap's `--seccomp` reads it; null on machines whose call numbers are not listed here. */
export function seccompFilter(architecture: string = process.arch): Uint8Array | null {
  const machine = machines[architecture];
  if (!machine) return null;
  const { foreignFrom } = machine;
  return assemble([
    [LOAD, 0, 0, ARCHITECTURE],
    [JUMP_EQUAL, 1, 0, machine.audit],
    [RETURN, 0, 0, ENOSYS],
    [LOAD, 0, 0, NUMBER],
    ...(foreignFrom === null ? [] : when(JUMP_GREATER_OR_EQUAL, foreignFrom, ENOSYS)),
    ...machine.forbidden.flatMap((call) => when(JUMP_EQUAL, call, EPERM)),
    ...forbiddenEverywhere.flatMap((call) => when(JUMP_EQUAL, call, EPERM)),
    ...absent.flatMap((call) => when(JUMP_EQUAL, call, ENOSYS)),
    ...whenArgument(machine.clone, 0, when(JUMP_BITS_SET, CLONE_NEWUSER, EPERM)),
    ...whenArgument(machine.ioctl, 1, [
      ...when(JUMP_EQUAL, TIOCSTI, EPERM),
      ...when(JUMP_EQUAL, TIOCLINUX, EPERM),
    ]),
    [RETURN, 0, 0, ALLOW],
  ]);
}

/** Code, instructions to skip when true, when false, operand. */
type Instruction = readonly [number, number, number, number];

function when(jump: number, operand: number, answer: number): Instruction[] {
  return [
    [jump, 0, 1, operand],
    [RETURN, 0, 0, answer],
  ];
}

function whenArgument(call: number, argument: number, rules: readonly Instruction[]): Instruction[] {
  return [
    [JUMP_EQUAL, 0, rules.length + 2, call],
    [LOAD, 0, 0, ARGUMENT[argument]!],
    ...rules,
    [RETURN, 0, 0, ALLOW],
  ];
}

function assemble(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  }
  return bytes;
}
