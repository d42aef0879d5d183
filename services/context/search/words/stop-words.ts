/** Whether a word says nothing of what is looked for. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase());
}

/** Whether a word stands in the messages of all sorts of changes. */
export function isNoise(word: string): boolean {
  return noise.has(word.toLowerCase());
}

const stopWords = wordsOf(`
  a about above after again against all also although always am an and any are as at be because been before being below between
  both but by can cannot could did do does doing done down during each either else even ever every few for from further get gets
  give given gives had has have having he her here hers him his how however i if in into is it its itself just let lets like
  made make makes many may me might more most much must my need needs neither never no nor not now of off on once one only or
  other others our ours out over own per rather same she should since so some such than that the their theirs them themselves
  then there therefore these they this those though through thus to too toward towards under until up upon us use used uses
  using very via want was we well were what when where whether which while who whom whose why will with within without would
  yet you your yours please currently instead still already etc ie eg vs don doesn didn isn wasn won aren couldn shouldn wouldn
  hasn haven`);

const noise = wordsOf(`
  fix fixes fixed fixing add adds added adding update updates updated updating remove removes removed removing change changes
  changed changing improve improves improved improvement improvements bug bugs feat feature chore refactor refactors refactored
  refactoring issue issues support supports implement implements implemented allow allows allowed avoid avoids ensure ensures
  revert reverts reverted minor cleanup bump new better correctly properly`);

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''));
}
