import { NODE_OLDEST, needNode } from '../lambdas/foundation/node-version.ts'

needNode(NODE_OLDEST, 'pushpop')
