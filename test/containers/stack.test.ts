import { needs } from '../needs.ts';
import { backupTests } from './backup.ts';
import { faultTests } from './faults.ts';
import { hardeningTests } from './hardening.ts';
import { imageTests } from './images.ts';
import { loopTests } from './loop.ts';
import { ContainerStack } from './stack/container-stack.ts';

/** Neo4j and iii cannot be pulled everywhere: what stands in for them is named. */
describe('the compose stack, with Neo4j’s server on Debian’s Java for its image and our engine for iii', () => {
  const stack = new ContainerStack(`test-${process.pid}`);

  before(async function () {
    this.timeout(1_800_000);
    for (const thing of ['docker', 'testcontainers', 'neo4j', 'jj'] as const) needs(this, thing);
    await stack.prepare();
    await stack.up();
  });
  after(async function () {
    this.timeout(600_000);
    if (stack.folder !== '') await stack.down();
  });

  imageTests(stack);
  hardeningTests(stack);
  loopTests(stack);
  faultTests(stack);
  backupTests(stack);
});
