import { describeWith, has, type NeedName } from '../needs.ts';
import { backupTests } from './backup.ts';
import { faultTests } from './faults.ts';
import { guardTests } from './guard.ts';
import { hardeningTests } from './hardening.ts';
import { hostTests } from './hosts.ts';
import { imageTests } from './images.ts';
import { loopTests } from './loop.ts';
import { ContainerStack, type Engine } from './stack/container-stack.ts';

const needed: readonly NeedName[] = ['docker', 'neo4j', 'jj'];

describeWith([...needed, 'iii'], 'the compose stack, with iii and Neo4j', () => {
  const stack = runningStack('iii');
  guardTests(stack);
  everything(stack);
});

describeWith(needed, 'the compose stack, with our engine in place of iii', () => {
  const stack = runningStack('embedded');
  // It differs by the engine alone: where the stack above runs, the ways through the engine are what is left.
  if (has('iii')) loopTests(stack);
  else everything(stack);
});

// In this file, so that they do not run beside the stack: three more stacks are too much for a small machine.
describeWith(
  ['docker', 'postgres', 's3', 'jj', 'openssl'],
  'three hosts as their guide has them',
  function () {
    this.timeout(900_000);
    hostTests();
  },
);

function everything(stack: ContainerStack): void {
  imageTests(stack);
  hardeningTests(stack);
  loopTests(stack);
  faultTests(stack);
  backupTests(stack);
}

function runningStack(engine: Engine): ContainerStack {
  const stack = new ContainerStack(`test-${engine}-${process.pid}`, engine);
  before(async function () {
    this.timeout(2_400_000);
    await stack.prepare();
    await stack.up();
  });
  after(async function () {
    this.timeout(600_000);
    if (stack.folder !== '') stack.down();
  });
  return stack;
}
