import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import type { Sandbox, SandboxResult, SandboxRun } from '../../services/agentd/ports/sandbox.ts';

export const limits = {
  seconds: 100,
  memory_mib: 512,
  processes: 64,
  disk_mib: 256,
  output_bytes: 64 * 1024,
};

/** What every sandbox does with a command, and what it keeps when the command goes too far. */
export function sandboxContract(create: () => Sandbox): void {
  const bench = useBench(create);

  it('says that it works', async () => {
    expect(await bench.sandbox.check()).to.include({ works: true });
  });

  it('runs a command in the workspace and gives back its exit status', async () => {
    writeFileSync(join(bench.workspace, 'given'), 'from the host');
    const result = await bench.run('cat given && echo made >made && exit 7');
    expect(result).to.include({ exit_code: 7, ended_by: 'exit', truncated: false, text: 'from the host' });
    expect(readFileSync(join(bench.workspace, 'made'), 'utf8')).to.equal('made\n');
  });

  it('keeps standard output and standard error in the order in which they were written', async () => {
    const { text } = await bench.run('echo a; echo b >&2; echo c; echo d >/dev/stderr; echo e >/dev/stdout');
    expect(text).to.equal('a\nb\nc\nd\ne\n');
  });

  for (const [what, fail] of [
    ['its workspace was deleted', () => rmSync(bench.workspace, { recursive: true })],
    [
      'its output cannot be passed on',
      () => {
        throw new Error('the disk is full');
      },
    ],
  ] as const) {
    it(`ends a command that it cannot supervise because ${what}`, async () => {
      const result = await bench.run('echo begun; sleep 100', { onOutput: fail });
      expect(result).to.include({ exit_code: null, ended_by: 'signal' });
      expect(result.note).to.match(/^ended because its limits cannot be checked: (ENOENT|the disk is full)/);
    });
  }

  it('passes output on while the command runs', async () => {
    const seen: string[] = [];
    const { text } = await bench.run('printf 1; until [ -e heard ]; do sleep 0.02; done; printf 2', {
      onOutput(chunk) {
        seen.push(Buffer.from(chunk).toString());
        writeFileSync(join(bench.workspace, 'heard'), '');
      },
    });
    expect(seen).to.deep.equal(['1', '2']);
    expect(text).to.equal('12');
  });

  it('gives the command a small environment and nothing to read', async () => {
    process.env.CORE_TEST_SECRET = 'swordfish';
    const { text } = await bench.run('cat; tr "\\0" "\\n" </proc/self/environ').finally(() => {
      delete process.env.CORE_TEST_SECRET;
    });
    const names = text
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(
      names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_', 'CORE_SANDBOX'].includes(name!)),
    ).to.have.members([...['PATH', 'HOME', 'TMPDIR', 'LANG', 'CI', 'SHELL', 'USER', 'LOGNAME']]);
  });

  it('lets the command find the Node that runs this', async () => {
    expect((await bench.run('node -p process.version')).text).to.equal(`${process.version}\n`);
  });

  it('shows mounted folders below the workspace', async () => {
    const source = bench.folder('prepared');
    mkdirSync(join(source, 'dependency'));
    writeFileSync(join(source, 'dependency', 'index.js'), 'module.exports = 42');
    const mounts = [{ source, target: 'packages/a/node_modules' }];
    const { text } = await bench.run('cd packages/a && node -p "require(\'dependency\')"', { mounts });
    expect(text).to.equal('42\n');
    await bench.run('echo changed >packages/a/node_modules/dependency/index.js', { mounts });
    expect(readFileSync(join(source, 'dependency', 'index.js'), 'utf8')).to.equal('module.exports = 42');
  });

  it('refuses to mount behind a link or outside the workspace', async () => {
    const outside = bench.folder('outside');
    symlinkSync(outside, join(bench.workspace, 'node_modules'));
    const mounts = [{ source: bench.folder('prepared'), target: 'node_modules/deep' }];
    expect(await bench.failure('true', { mounts })).to.equal('mount_point_blocked');
    expect(existsSync(join(outside, 'deep'))).to.equal(false);
    for (const target of ['../x', '/x', 'a//b', 'a/../..', '']) {
      const away = [{ source: outside, target }];
      expect(await bench.failure('true', { mounts: away }), target).to.equal('mount_not_allowed');
    }
  });

  it('ends a command that takes too long, with what it left in the background', async () => {
    const sleep = bench.marker();
    const result = await bench.run(
      `(setsid sh -c '${sleep} & ${sleep}' >/dev/null 2>&1 &); echo started; ${sleep}`,
      {
        limits: { ...limits, seconds: 4 },
      },
    );
    expect(result).to.include({ exit_code: null, ended_by: 'timeout' });
    expect(result.note).to.match(/^ended after \d+ seconds, the limit$/);
    expect(result.text).to.equal('started\n\n[core: ended after 4 seconds, the limit]\n');
    expect(result.duration_ms).to.be.within(3900, 50_000);
    expect(running(sleep)).to.deep.equal([]);
  });

  it('leaves nothing behind when the command itself has ended', async () => {
    const sleep = bench.marker();
    const result = await bench.run(
      `(setsid nohup ${sleep} >/dev/null 2>&1 &) ; (setsid ${sleep} &); echo done`,
    );
    expect(result).to.include({ exit_code: 0, ended_by: 'exit', text: 'done\n' });
    expect(running(sleep)).to.deep.equal([]);
  });

  it('ends everything when it is cancelled', async () => {
    const sleep = bench.marker();
    const abort = new AbortController();
    const started = bench.run(`echo started; (setsid ${sleep} &); ${sleep}`, {
      signal: abort.signal,
      onOutput: () => abort.abort(),
    });
    expect(await started).to.include({ exit_code: null, ended_by: 'cancelled' });
    expect(running(sleep)).to.deep.equal([]);
  });

  it('does not start what was cancelled before', async () => {
    const result = await bench.run('touch started', { signal: AbortSignal.abort() });
    expect(result).to.include({ exit_code: null, ended_by: 'cancelled' });
    expect(existsSync(join(bench.workspace, 'started'))).to.equal(false);
  });

  it('ends a command that takes too much memory', async () => {
    const hog = 'const all = []; for (;;) all.push(Buffer.alloc(16e6, 1));';
    const result = await bench.run(`node -e '${hog}'`, { limits: { ...limits, memory_mib: 256 } });
    expect(result).to.include({ exit_code: null, ended_by: 'memory' });
    expect(result.text).to.contain('[core: ended for using more than 256 MiB of memory, the limit]');
  });

  it('lets a program reserve more addresses than it uses', async () => {
    const { text } = await bench.run('node -p "process.memoryUsage().rss < 256e6"', {
      limits: { ...limits, memory_mib: 256 },
    });
    expect(text).to.equal('true\n');
  });

  it('ends a command that starts too many processes', async () => {
    const sleep = bench.marker();
    const bomb = `i=0; while [ $i -lt 100 ]; do ${sleep} & i=$((i+1)); done; wait`;
    const result = await bench.run(bomb, { limits: { ...limits, processes: 32 } });
    expect(result).to.include({ exit_code: null, ended_by: 'signal' });
    expect(result.text).to.contain('[core: ended for having more than 32 processes, the limit]');
    expect(running(sleep)).to.deep.equal([]);
  });

  it('keeps head and tail of endless output and goes on', async () => {
    const result = await bench.run('echo first; yes | head -c 20000000; echo; echo last', {
      limits: { ...limits, output_bytes: 4096 },
    });
    expect(result).to.include({ exit_code: 0, truncated: true });
    expect(result.text.length).to.be.within(4096, 4200);
    expect(result.text).to.match(/^first\ny\n/);
    expect(result.text).to.match(/\n\[\d+ bytes left out\]\n/);
    expect(result.text).to.match(/\nlast\n$/);
  });
}

/** What a sandbox that isolates keeps from the command. Attacks that would work outside. */
export function isolationContract(create: () => Sandbox): void {
  const bench = useBench(create);

  it('shows nothing of home, state, configuration or other users', async () => {
    const secret = join(bench.folder('state'), 'token');
    writeFileSync(secret, 'swordfish', { mode: 0o600 });
    symlinkSync(secret, join(bench.workspace, 'link'));
    const { text } = await bench.run(
      `cat ${secret} link /proc/1/root${secret} /proc/self/root${secret}; ls -A /root /home /var /run /mnt /media /srv /opt /boot /sys ~/.ssh`,
    );
    expect(text).not.to.contain('swordfish');
    expect(
      text.split('\n').filter((line) => line && !/No such file|cannot open|Permission denied/.test(line)),
    ).to.deep.equal([]);
  });

  it('shows accounts, hosts and keys of its own', async () => {
    const { text } = await bench.run('cat /etc/passwd; ls -A /etc/shadow /etc/ssh /etc/ssl/private; id -un');
    expect(text).to.contain('core:x:1000:1000');
    expect(text).not.to.match(/^(daemon|sshd|www-data):/m);
    expect(text.match(/No such file/g)).to.have.length(3);
    expect(text).to.match(/\ncore\n$/);
  });

  it('shows no process of the host and nothing of their environment', async () => {
    process.env.CORE_TEST_SECRET = 'swordfish';
    const { text } = await bench
      .run(
        'cat /proc/[0-9]*/environ | tr "\\0" "\\n"; echo; ls -d /proc/[0-9]* | wc -l; kill -9 -1; echo alive',
      )
      .finally(() => {
        delete process.env.CORE_TEST_SECRET;
      });
    expect(text).not.to.contain('swordfish');
    expect(Number(/^(\d+)$/m.exec(text)?.[1])).to.be.below(10);
  });

  it('reaches no network, not even the host itself, and has a loopback of its own', async () => {
    const { server, port } = await listen();
    const ask = `node -e "fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log, (e) => console.log('no:', e.cause.code))"`;
    try {
      expect((await bench.run(ask)).text).to.equal('no: ECONNREFUSED\n');
      expect((await bench.run(ask, { network: true })).text).to.equal('hello\n');
    } finally {
      server.close();
    }
    const own = `node -e "const s = require('http').createServer((q, r) => r.end('own')).listen(0, '127.0.0.1', () => fetch('http://127.0.0.1:' + s.address().port).then((r) => r.text()).then((t) => { console.log(t); s.close(); }))"`;
    expect((await bench.run(own)).text).to.equal('own\n');
    expect((await bench.run('getent hosts localhost >/dev/null && echo known')).text).to.equal('known\n');
  });

  it('writes nothing outside workspace and temporary folder', async () => {
    const writable = await bench.run(
      `find / \\( -path '/proc/[0-9]*' -o -path /proc/self -o -path /proc/thread-self -o -path /proc/task -o -path /workspace -o -path /tmp -o -path '/dev/shm' -o -path /dev/pts \\) -prune -o -not -type l -writable -print 2>/dev/null | while read -r path; do [ -c "$path" ] || echo "$path"; done`,
    );
    expect(writable.text).to.equal('');
    const { text } = await bench.run(
      'touch /usr/x /etc/x /x /dev/x; echo x >/usr/bin/env; echo x >>/etc/passwd; echo core >/proc/sys/kernel/core_pattern; echo x >/proc/sysrq-trigger; touch /tmp/x /dev/shm/x && echo temporary',
    );
    expect(text).to.match(/temporary\n$/);
    expect(text.match(/Read-only file system|Permission denied|Directory nonexistent/g)).to.have.length(8);
  });

  it('cannot change its own walls', async () => {
    const attacks = [
      'mount -t tmpfs none /tmp',
      'mount -o remount,rw,bind /usr',
      'mount --bind /workspace /usr',
      'umount /proc/sys',
      'umount -l /usr',
      'unshare --user --map-root-user true',
      'unshare --mount true',
      'chroot /workspace /bin/true',
      'nsenter --target 1 --mount true',
      'ip link add dummy0 type dummy',
      'hostname other',
      'mknod /workspace/disk b 8 0',
    ];
    for (const attack of attacks) {
      const { exit_code } = await bench.run(`${attack} >/dev/null 2>&1`);
      expect(exit_code, attack).not.to.equal(0);
    }
  });

  it('has no capabilities and gains none from set-user-ID programs', async () => {
    const { text } = await bench.run(
      'cp /usr/bin/env own && chmod 4755 own; ./own grep -E "^(CapEff|CapPrm|NoNewPrivs)" /proc/self/status; grep -E " /(workspace|usr|tmp) " /proc/self/mounts',
    );
    expect(text).to.match(/CapPrm:\t0+\nCapEff:\t0+\nNoNewPrivs:\t1\n/);
    const mounts = text.split('\n').filter((line) => / \/(workspace|usr|tmp) /.test(line));
    expect(mounts).to.have.length(3);
    for (const mount of mounts) expect(mount).to.match(/[ ,]nosuid[, ]/);
  });

  it('takes no open file of this process along', async () => {
    const { text } = await bench.run('for f in /proc/self/fd/*; do readlink "$f"; done');
    for (const target of text.trim().split('\n')) expect(target).to.match(/^(\/dev\/null|.*pipe.*|)$/);
  });

  it('counts files in memory as memory', async () => {
    const { exit_code } = await bench.run('head -c 300000000 /dev/zero >/dev/shm/a && sleep 20', {
      limits: { ...limits, memory_mib: 128 },
    });
    expect(exit_code).not.to.equal(0);
    const both = await bench.run(
      'head -c 100000000 /dev/zero >/dev/shm/a && head -c 100000000 /dev/zero >/tmp/a && sleep 20',
      {
        limits: { ...limits, memory_mib: 128 },
      },
    );
    expect(both).to.include({ exit_code: null, ended_by: 'memory' });
  });

  it('never shows a mounted folder as writable, but for the scratch folders of tools', async () => {
    const source = bench.folder('node_modules');
    mkdirSync(join(source, '.cache'));
    const mounts = [{ source, target: 'node_modules' }];
    const { text } = await bench.run(
      'cd node_modules; touch a; rm -rf .cache; mv ../node_modules ../x; touch .cache/b && echo scratch',
      { mounts },
    );
    expect(text).to.match(/scratch\n$/);
    expect(readdirSync(source)).to.deep.equal(['.cache']);
    expect(readdirSync(join(source, '.cache'))).to.deep.equal([]);
  });
}

/** The output as text; as bytes it would make the message of a failed expectation endless. */
type Run = Omit<SandboxResult, 'output'> & { text: string };

export interface Bench {
  readonly sandbox: Sandbox;
  readonly workspace: string;
  folder(name: string): string;
  /** A `sleep` that can be found among all processes. */
  marker(): string;
  run(command: string, run?: Partial<SandboxRun>): Promise<Run>;
  /** The code with which a run is refused. */
  failure(command: string, run?: Partial<SandboxRun>): Promise<string>;
}

export function useBench(create: () => Sandbox): Bench {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-sandbox-test-'));
    mkdirSync(join(root, 'workspace'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const bench: Bench = {
    get sandbox() {
      return create();
    },
    get workspace() {
      return join(root, 'workspace');
    },
    folder(name) {
      mkdirSync(join(root, name));
      return join(root, name);
    },
    marker: () => `sleep 60.${randomInt(1e9, 1e10)}`,
    async run(command, run = {}) {
      const whole = { workspace: bench.workspace, mounts: [], network: false, limits, command, ...run };
      const { output, ...result } = await bench.sandbox.run(whole);
      return { ...result, text: Buffer.from(output).toString('utf8') };
    },
    failure: (command, run) => bench.run(command, run).then(() => 'none', codeOf),
  };
  return bench;
}

/** Pids of the processes with this command line. */
export function running(command: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() === command;
    } catch {
      return false;
    }
  });
}

async function listen(): Promise<{ server: Server; port: number }> {
  const server = createServer((_, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}
