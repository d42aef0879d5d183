import { publication, type Scene, steps, vcsOfKind } from './vcs-scene.ts';

/** Works through everything a clone is used for; a test kills it somewhere on the way. */
const [kind, sceneJson] = process.argv.slice(2);
const { workspace, tree } = JSON.parse(sceneJson!) as Scene;
const vcs = vcsOfKind(kind!);

const { operation_id } = await vcs.open(workspace);
for (let round = 0; round < 2; round++) {
  if (round > 0) await vcs.restore(workspace, operation_id);
  for (const step of steps(tree)) await vcs.build(workspace, step);
}
const { commit } = await vcs.inspect(workspace, null);
await vcs.publish(workspace, publication(commit!));
await vcs.unpublish(workspace, publication(commit!, commit));
