import { expect } from 'chai';
import { openS3 } from '#kit/objects/s3.ts';
import { bucketCheck } from '../../services/agentd/http/health-checks.ts';
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
});
