import { gitVcs } from '../../services/agentd/vcs/git/git-vcs.ts';
import { jjVcs } from '../../services/agentd/vcs/jj/jj-vcs.ts';
import { isKilledHere } from '../crash-matrix/points.ts';
import { vcsCrashPoints } from '../crash-matrix/vcs-points.ts';
import { describeWith } from '../needs.ts';
import { vcsContract } from './vcs.contract.ts';

describe('version control with git', () => {
  vcsContract(gitVcs(), vcsCrashPoints.git.filter(isKilledHere));
});

describeWith(['jj'], 'version control with jj', () => {
  vcsContract(jjVcs(), vcsCrashPoints.jj.filter(isKilledHere));
});
