import { openRunStore } from '../../../services/agentd/open-run-store.ts';
import { issueLease, patientLease } from '../../../services/agentd/runs/run-store.ts';
import { decided, planned, sampleRequest } from '../../contract/run-store.sample.ts';

/** `approver.ts HOME COUNT`: says `ready`, waits for a line, records so many approvals as core-agentd does, and says `done`. */
const [home, count] = process.argv.slice(2) as [string, string];
const store = await openRunStore({ config: `${home}/config`, state: `${home}/state` });
const runs: string[] = [];
for (let number = 1; number <= 4; number++) {
  const { run_id } = await store.create(sampleRequest({ number, owner: `host-${process.pid}` }));
  await store.append(run_id, () => planned(run_id));
  runs.push(run_id);
}
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
for (let done = 0; done < Number(count); done++) {
  const run_id = runs[done % runs.length]!;
  const { request } = await store.read(run_id);
  const lease = await patientLease(store, issueLease(request));
  await store.append(run_id, ({ actions }) => [decided(actions[0]!.definition)]);
  await lease.release();
}
process.stdout.write('done\n');
await store.close();
process.stdin.destroy();
