import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { S3Settings } from '#kit/config/storage.ts';
import { readS3Settings } from '#kit/config/storage.ts';
import { codeOf } from '#kit/errors.ts';
import { measureHttp } from '#kit/http/metrics.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import { openS3 } from '#kit/objects/s3.ts';
import { Registry } from '#kit/prometheus.ts';
import { failure } from '../fixtures/failure.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { describeWith } from '../needs.ts';
import { freePort } from '../support/free-port.ts';

describeWith(['s3', 'openssl'], 'objects in an S3 bucket', () => {
  let server: S3Server;
  const opened: ObjectStore[] = [];

  before(async () => {
    server = await startS3();
  });

  after(async () => {
    for (const store of opened) await store.close();
    await server.kill();
  });

  function open(changed: Partial<S3Settings> = {}): ObjectStore {
    const store = openS3({ ...server.settings, ...changed });
    opened.push(store);
    return store;
  }

  function fileWith(text: string): string {
    const path = join(temporaryFolder(), 'key');
    writeFileSync(path, text);
    return path;
  }

  it('gives back what was put, any number of bytes', async () => {
    const store = open();
    for (const bytes of [0, 1, 20_000_000]) {
      const content = Buffer.alloc(bytes, 'é');
      await store.put(`runs/a-${bytes}`, content);
      const hash = createHash('sha256');
      for await (const piece of (await store.get(`runs/a-${bytes}`))!) hash.update(piece);
      expect(hash.digest('hex')).to.equal(createHash('sha256').update(content).digest('hex'));
    }
    expect(server.objects()).to.include.members(['core/runs/a-0', 'core/runs/a-1']);
  });

  it('deletes, and says that there is nothing', async () => {
    const store = open();
    await store.put('runs/b', Buffer.from('b'));
    await store.delete('runs/b');
    expect(await store.get('runs/b')).to.equal(null);
    await store.delete('runs/b');
  });

  it('names what is wrong: bucket, key, secret, their file, server', async () => {
    const put = (changed: Partial<S3Settings>) =>
      failure(open(changed).put('runs/c', Buffer.from('c'))) as Promise<Error>;
    const noBucket = await put({ bucket: 'core-elsewhere' });
    expect(codeOf(noBucket)).to.equal('bucket_missing');
    expect(noBucket.message).to.contain('/core-elsewhere/core/').and.contain('NoSuchBucket');
    expect(codeOf(await failure(open({ bucket: 'core-elsewhere' }).get('runs/c')))).to.equal(
      'bucket_missing',
    );
    const noKey = await put({ access_key_id_file: fileWith('SOMEBODY') });
    expect(codeOf(noKey), noKey.message).to.equal('objects_refused');
    const wrongSecret = await put({ secret_access_key_file: fileWith('wrong') });
    expect(codeOf(wrongSecret)).to.equal('objects_refused');
    expect(wrongSecret.message).to.contain('SignatureDoesNotMatch');
    const missing = join(temporaryFolder(), 'absent');
    const noFile = await put({ secret_access_key_file: missing });
    expect(codeOf(noFile)).to.equal('objects_key_unreadable');
    expect(noFile.message).to.contain(`${missing} (storage.s3.secret_access_key_file)`);
    const nobody = await put({ endpoint: `http://127.0.0.1:${await freePort()}` });
    expect(codeOf(nobody)).to.equal('objects_unavailable');
  });

  it('takes a key that was changed in its file while Core runs', async () => {
    const path = fileWith('wrong');
    const store = open({ secret_access_key_file: path });
    expect(codeOf(await failure(store.put('runs/d', Buffer.from('d'))))).to.equal('objects_refused');
    writeFileSync(path, 'only-for-tests\r\n');
    await store.put('runs/d', Buffer.from('d'));
  });

  it('asks again where the server is busy, and then says so', async () => {
    let asked = 0;
    const busy = createServer((_request, response) => {
      asked++;
      response.writeHead(503).end('<Error><Code>SlowDown</Code><Message>Please slow down</Message></Error>');
    }).listen(0, '127.0.0.1');
    await once(busy, 'listening');
    const { port } = busy.address() as AddressInfo;
    const error = (await failure(open({ endpoint: `http://127.0.0.1:${port}` }).get('runs/e'))) as Error;
    expect([codeOf(error), asked]).to.deep.equal(['objects_unavailable', 3]);
    expect(error.message).to.contain('HTTP 503, SlowDown, Please slow down');
    busy.closeAllConnections();
    busy.close();
  });

  it('counts its requests by operation and outcome', async () => {
    const metrics = measureHttp('core-test', new Registry());
    const countOf = async (operation: string, outcome: string): Promise<number> => {
      const { bytes } = await metrics.read();
      const labels = [`operation="${operation}"`, `outcome="${outcome}"`];
      const line = bytes
        .split('\n')
        .find(
          (text) =>
            text.startsWith('objects_seconds_count{') && labels.every((label) => text.includes(label)),
        );
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    const asked = [
      ['put', 'done', 1, () => open().put('runs/m', Buffer.from('m'))],
      ['get', 'done', 1, () => open().get('runs/m')],
      ['get', 'absent', 1, () => open().get('runs/none')],
      ['delete', 'done', 1, () => open().delete('runs/m')],
      [
        'put',
        'refused',
        1,
        () => failure(open({ bucket: 'core-elsewhere' }).put('runs/m', Buffer.from('m'))),
      ],
      ['get', 'unavailable', 3, () => failure(open({ endpoint: nobody }).get('runs/m'))],
    ] as const;
    const nobody = `http://127.0.0.1:${await freePort()}`;
    for (const [operation, outcome, requests, ask] of asked) {
      const before = await countOf(operation, outcome);
      await ask();
      expect((await countOf(operation, outcome)) - before, `${operation} ${outcome}`).to.equal(requests);
    }
  });

  it('trusts a certificate by its authority alone', async () => {
    const folder = temporaryFolder();
    const safe = await startS3(makeSelfSigned(folder));
    const store = openS3(safe.settings);
    await store.put('runs/f', Buffer.from('f'));
    const stranger = openS3({ ...safe.settings, ca_file: null });
    expect(codeOf(await failure(stranger.put('runs/g', Buffer.from('g'))))).to.equal('objects_not_trusted');
    expect(safe.objects()).to.deep.equal(['core/runs/f']);
    await store.close();
    await stranger.close();
    await safe.kill();
  });

  it('reads its settings, and says which one is missing or wrong', () => {
    const config = temporaryFolder();
    const read = (s3: Record<string, unknown>) => {
      writeFileSync(join(config, 'core.json'), JSON.stringify({ storage: { s3 } }));
      return readS3Settings({ config });
    };
    expect(read({})).to.equal(null);
    const whole = {
      endpoint: 'https://s3.example.org',
      bucket: 'core',
      access_key_id_file: '/a',
      secret_access_key_file: '/b',
    };
    expect(read(whole)).to.include({ ...whole, region: 'us-east-1', min_bytes: 5_242_880, path_style: true });
    for (const name of ['endpoint', 'access_key_id_file', 'secret_access_key_file'])
      expect(() => read({ ...whole, [name]: null })).to.throw(`/storage/s3/${name} is null`);
    expect(() => read({ ...whole, endpoint: 'http://s3.example.org' })).to.throw('http only to this machine');
    expect(() => read({ ...whole, bucket: 'A' })).to.throw('the name of a bucket');
    expect(() => read({ ...whole, prefix: '/core' })).to.throw('each end with a slash');
    rmSync(config, { recursive: true });
  });
});
