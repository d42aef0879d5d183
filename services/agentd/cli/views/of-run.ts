/** Views of one run, together: they need every kind of action. */
export { conversationOf, deletedContents } from '../conversation.ts';
export { actionDetails, actionsView, digestLines } from './actions-view.ts';
export { diffView } from './diff-view.ts';
export { failedStep } from './failed-step.ts';
export { planView } from './plan-view.ts';
export {
  conversationView,
  recordView,
  recoveryView,
  undoPlanView,
  undoResultView,
  verificationView,
} from './reports.ts';
export { movedLines, runView } from './run-view.ts';
