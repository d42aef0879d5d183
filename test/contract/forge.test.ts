import { describeWith } from '../needs.ts';
import { giteaBench, githubBench, localBench } from './forge.benches.ts';
import { forgeContract } from './forge.contract.ts';
import { realGiteaBench } from './real-gitea.bench.ts';

forgeContract('local', localBench);
forgeContract('github', githubBench);
forgeContract('gitea', giteaBench);

describeWith(['gitea'], 'a real gitea', () => {
  forgeContract('real gitea', realGiteaBench);
});
