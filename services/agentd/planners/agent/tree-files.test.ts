import { expect } from 'chai';
import { itWith } from '../../../../test/needs.ts';
import { TreeFiles } from './tree-files.ts';

describe('Files that an agent reads while it works', () => {
  itWith(['linux'], 'are read no further than the size that was checked, whatever is added meanwhile', () => {
    // Files of /proc say that they are empty, and are not.
    expect(new TreeFiles('/proc/self', '/tree').readText('/tree/status')).to.equal('');
  });
});
