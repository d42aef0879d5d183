import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { git } from '#kit/git/git.ts';
import { makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { remoteBranch } from './remote.ts';

async function failure(work: Promise<unknown>): Promise<{ code: string; message: string; facts: unknown }> {
  try {
    await work;
  } catch (error) {
    return error as { code: string; message: string; facts: unknown };
  }
  throw new Error('the work succeeded, but was to fail');
}

/** Answers every request with `status`, and keeps who asked. */
async function server(status: number, location?: string) {
  const seen: (string | undefined)[] = [];
  const http = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(status, { 'WWW-Authenticate': 'Basic realm="x"', ...(location ? { location } : {}) });
    response.end();
  });
  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready));
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, seen, close: () => http.close() };
}

const secrets = { username: 'core', password: 'pass \'word" $HOME', source: 'the token in /etc/core/token' };

describe('running git', () => {
  it('gives bytes, the exit code and git’s own words', async () => {
    const { gitDir } = makeRepository({ a: Uint8Array.of(0, 255, 10) });
    expect([...(await git(['cat-file', 'blob', 'HEAD:a'], { gitDir })).stdout]).to.deep.equal([0, 255, 10]);
    expect((await git(['cat-file', '-e', 'HEAD:b'], { gitDir, accept: [128] })).exitCode).to.equal(128);
    const error = await failure(git(['rev-parse', '--verify', 'none'], { gitDir }));
    expect(error.code).to.equal('git_failed');
    expect(error.message).to.contain('rev-parse').and.contain('Needed a single revision');
  });

  it('finds no repository by accident', async () => {
    expect((await failure(git(['rev-parse', '--git-dir']))).code).to.equal('git_failed');
  });

  it('ends git and all that it started when it is cancelled', async () => {
    const folder = temporaryFolder();
    const slow = join(folder, 'slow.sh');
    writeFileSync(slow, '#!/bin/sh\nsleep 250\n');
    chmodSync(slow, 0o755);
    const signal = AbortSignal.timeout(200);
    const started = performance.now();
    const error = await failure(git(['-c', `alias.slow=!${slow}`, 'slow'], { cwd: folder, signal }));
    expect(error.code).to.equal('git_timeout');
    expect(performance.now() - started).to.be.below(100_000);
    expect((await failure(git(['--version'], { signal: AbortSignal.abort() }))).code).to.equal('interrupted');
  });

  it('gives the credential to the remote that it is for', async () => {
    const remote = await server(401);
    try {
      const credential = { ...secrets, origins: [remote.url] };
      const error = await failure(remoteBranch(remote.url, 'main', credential));
      expect(error.code).to.equal('remote_unauthorized');
      expect(error.message).to.contain('with the token in /etc/core/token');
      const sent = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
      expect(remote.seen).to.include(`Basic ${sent}`);
      expect(JSON.stringify(error)).not.to.contain('pass ');
    } finally {
      remote.close();
    }
  });

  it('gives it to no other port, scheme or host, whatever URL it is asked for', async () => {
    const remote = await server(401);
    try {
      const { port } = new URL(remote.url);
      for (const origin of ['http://127.0.0.1', `https://127.0.0.1:${port}`, `http://localhost:${port}`]) {
        const error = await failure(remoteBranch(remote.url, 'main', { ...secrets, origins: [origin] }));
        expect(error.code).to.equal('remote_unauthorized');
      }
      expect(remote.seen.filter((authorization) => authorization !== undefined)).to.deep.equal([]);
    } finally {
      remote.close();
    }
  });

  it('does not go where the remote points to', async () => {
    const other = await server(401);
    const remote = await server(302, `${other.url}/x/info/refs?service=git-upload-pack`);
    try {
      const credential = { ...secrets, origins: [remote.url, other.url] };
      const error = await failure(remoteBranch(`${remote.url}/x`, 'main', credential));
      expect(error.code).to.equal('remote_redirected');
      expect(other.seen).to.deep.equal([]);
    } finally {
      remote.close();
      other.close();
    }
  });

  it('distinguishes an unreachable remote from a refusing one, without the secrets of its URL', async () => {
    const remote = await server(503);
    remote.close();
    const error = await failure(remoteBranch(remote.url.replace('//', '//me:s3cret@'), 'main', null));
    expect(error.code).to.equal('remote_unavailable');
    expect(JSON.stringify(error) + error.message).not.to.contain('s3cret');
  });
});
