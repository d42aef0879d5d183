import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Picture, settled, takePictures } from '../../site/pictures/pictures.ts';
import { takeScreenshots } from '../../site/pictures/review-pages.ts';
import { describeWith } from '../needs.ts';
import { siteFolder } from './site-build.ts';

describeWith(['git', 'script', 'bubblewrap', 'time'], 'the pictures of a run', function () {
  this.timeout(600_000);
  let taken: Picture[];
  before(async () => {
    taken = await takePictures();
  });

  for (const name of ['plan.svg', 'loop.svg']) {
    it(`${name} shows what the terminal shows now; else npm run site -- pictures takes it again`, () => {
      const committed = readFileSync(join(siteFolder, 'public', name), 'utf8');
      const picture = taken.find((one) => one.name === name);
      expect(settled(picture?.svg ?? '').split('\n')).to.deep.equal(settled(committed).split('\n'));
    });
  }

  it('show the whole of it: plan, diff, both gates, pull request and undo', () => {
    const loop = taken.find(({ name }) => name === 'loop.svg')!.svg;
    for (const part of [
      '>core run 1<',
      '>low<',
      '+  const known = tidy(name);',
      'approve and execute (changes only this machine)',
      'approve and execute (others will see it)',
      'completed',
      '>core undo 1<',
      'The run is undone.',
    ])
      expect(loop).to.contain(part);
    expect(loop).to.contain('prefers-reduced-motion');
  });
});

describeWith(['chromium', 'git'], 'the pictures of the review page', function () {
  this.timeout(300_000);

  it('can be taken, are all of those of the site, and stand on its pages', async () => {
    const taken = (await takeScreenshots()).map(({ name }) => name).toSorted();
    const committed = readdirSync(join(siteFolder, 'public')).filter((name) => name.endsWith('.png'));
    expect(taken).to.deep.equal(committed.toSorted());
    const pages = readdirSync(siteFolder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join(siteFolder, name), 'utf8'));
    for (const name of taken)
      expect(
        pages.some((text) => text.includes(`/${name}`)),
        name,
      ).to.equal(true);
  });
});
