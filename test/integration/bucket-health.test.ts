import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { resolveFolders } from '#kit/folders.ts';
import { askBucket } from '#kit/objects/ask-bucket.ts';
import { openS3 } from '#kit/objects/s3.ts';
import { bucketCheck } from '../../services/agentd/http/health-checks.ts';
import { checkBucket } from '../../services/supervisor/health-checks/bucket.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

describeWith(['s3'], 'the health check of a bucket', () => {
  let s3: S3Server;

  before(async () => {
    s3 = await startS3();
  });
  after(() => s3.kill());

  it('asks it, leaves nothing there, and says so when it does not answer and when it does again', async () => {
    const store = openS3(s3.settings);
    const check = bucketCheck(store, 5_000, 100);
    const stateOf = async (words: string) => {
      let last = await check();
      await until(`"${words}"`, async () => {
        last = await check();
        return last.detail?.includes(words) ?? false;
      });
      return last.status;
    };
    expect(await stateOf('keeps, gives back and deletes objects')).to.equal('ok');
    await until('the end of the probe', () => s3.objects().every((name) => !name.includes('probes/')));
    await s3.kill();
    expect(await stateOf('does not answer')).to.equal('degraded');
    await s3.restart();
    expect(await stateOf('keeps, gives back and deletes objects')).to.equal('ok');
    await store.close();
  });

  it('deletes what a killed process left, because its object has one name on each host', async () => {
    const { hostname } = await import('node:os');
    const store = openS3(s3.settings);
    const left = `probes/${hostname().replaceAll(/[^A-Za-z0-9-]/g, '-')}-agentd`;
    await store.put(left, Buffer.from('of a process that was killed'));
    expect(s3.objects()).to.include(`core/${left}`);
    await askBucket(store, 'agentd');
    expect(s3.objects().filter((name) => name.includes('probes/'))).to.deep.equal([]);
    await store.close();
  });

  it('is made by core doctor too, which says what is wrong', async () => {
    const home = temporaryFolder();
    const folders = resolveFolders({ home }, {} as never);
    mkdirSync(folders.config, { recursive: true });
    expect(await checkBucket(folders)).to.deep.equal([]);
    const configure = (change: object) =>
      writeFileSync(
        join(folders.config, 'core.json'),
        JSON.stringify({ storage: { s3: { ...s3.settings, ...change } } }),
      );
    configure({});
    const [works] = await checkBucket(folders);
    expect([works!.state, works!.detail]).to.deep.equal([
      'works',
      `${s3.settings.endpoint}/core-test/core/ keeps, gives back and deletes objects`,
    ]);
    expect(s3.objects().filter((name) => name.includes('probes/'))).to.deep.equal([]);
    configure({ bucket: 'core-elsewhere' });
    const [missing] = await checkBucket(folders);
    expect(missing!.state).to.equal('broken');
    expect(missing!.detail).to.contain('there is no bucket');
  });
});
