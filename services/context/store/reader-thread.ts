import { answerQueries } from '../record/answer-queries.ts';
import { readQueries } from './queries.ts';

answerQueries(readQueries);
