import { expect } from 'chai';
import { seccompFilter } from './seccomp.ts';

/** Runs a filter as the kernel would, on one system call; the value that it returns. */
function verdict(
  filter: Uint8Array,
  architecture: number,
  call: number,
  args: readonly number[] = [],
): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeUInt32LE(value, 16 + index * 8);
  const program = Buffer.from(filter);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const operand = program.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean) => program.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x06) return operand;
    else if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x15) at += jump(accumulator === operand);
    else if (code === 0x35) at += jump(accumulator >= operand);
    else if (code === 0x45) at += jump((accumulator & operand) !== 0);
    else throw new Error(`unknown instruction ${code}`);
  }
}

const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const allow = 0x7fff0000;
const notPermitted = 0x00050001;
const unknownCall = 0x00050026;
const noSuchFamily = 0x00050061;

describe('The system call filter', () => {
  it('lets ordinary calls through', () => {
    const filter = seccompFilter('x64')!;
    for (const call of [0, 1, 2, 57, 59, 231, 257, 434]) expect(verdict(filter, x64, call)).to.equal(allow);
    for (const call of [56, 63, 64, 221])
      expect(verdict(seccompFilter('arm64')!, arm64, call)).to.equal(allow);
  });

  it('refuses mounts, namespaces, keys and kernel programs on both machines', () => {
    const x64Calls = [165, 272, 308, 250, 321, 298, 428, 442];
    for (const call of x64Calls) expect(verdict(seccompFilter('x64')!, x64, call)).to.equal(notPermitted);
    const arm64Calls = [40, 97, 268, 219, 280, 241, 428, 442];
    for (const call of arm64Calls)
      expect(verdict(seccompFilter('arm64')!, arm64, call)).to.equal(notPermitted);
  });

  it('refuses new user namespaces and typing into a terminal, and nothing else of these calls', () => {
    const filter = seccompFilter('x64')!;
    expect(verdict(filter, x64, 56, [0x10000000])).to.equal(notPermitted);
    expect(verdict(filter, x64, 56, [0x11])).to.equal(allow);
    expect(verdict(filter, x64, 16, [0, 0x5412])).to.equal(notPermitted);
    expect(verdict(filter, x64, 16, [0, 0x541c])).to.equal(notPermitted);
    expect(verdict(filter, x64, 16, [0, 0x5401])).to.equal(allow);
  });

  it('lets sockets reach the network namespace and nothing beside it', () => {
    for (const [machine, audit, calls] of [
      ['x64', x64, [41, 53]],
      ['arm64', arm64, [198, 199]],
    ] as const) {
      const filter = seccompFilter(machine)!;
      for (const call of calls) {
        for (const family of [1, 2, 10, 16]) expect(verdict(filter, audit, call, [family])).to.equal(allow);
        // AF_UNSPEC, AF_PACKET, AF_ALG, AF_VSOCK, AF_QIPCRTR, AF_XDP.
        for (const family of [0, 17, 38, 40, 42, 44]) {
          expect(verdict(filter, audit, call, [family])).to.equal(noSuchFamily);
        }
      }
    }
  });

  it('makes calls whose arguments it cannot see, and other calling conventions, look unknown', () => {
    const filter = seccompFilter('x64')!;
    for (const call of [435, 425, 0x40000000, 0x40000001]) {
      expect(verdict(filter, x64, call)).to.equal(unknownCall);
    }
    expect(verdict(filter, 0x40000003, 1)).to.equal(unknownCall);
  });

  it('is left out on machines whose numbers it does not know', () => {
    expect(seccompFilter('riscv64')).to.equal(null);
  });
});
