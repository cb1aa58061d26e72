import { NODE_OLDEST, needNode } from '../shared/node-version.ts'

needNode(NODE_OLDEST, 'pushpop')
