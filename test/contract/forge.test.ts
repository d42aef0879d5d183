import { giteaBench, githubBench, localBench } from './forge.benches.ts';
import { forgeContract } from './forge.contract.ts';

forgeContract('local', localBench);
forgeContract('github', githubBench);
forgeContract('gitea', giteaBench);
