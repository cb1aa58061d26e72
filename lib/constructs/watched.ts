import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { FunctionName } from '../../lambdas/runtime/names.ts'

/** What the alarms and the dashboard show. */
export type Watched = {
  readonly serviceName: string
  readonly api: HttpApi
  readonly functions: Readonly<Record<FunctionName, LambdaFunction>>
  readonly table: Table
  readonly failures: Queue
  /** Only with events: the function that announces them, and the queue for those that it gave up. */
  readonly events: { readonly announcer: LambdaFunction; readonly failures: Queue } | undefined
  /** Only with an inbox: its queue, the function that applies it, and the queue for messages that it gave up. */
  readonly inbox:
    | { readonly applier: LambdaFunction; readonly queue: Queue; readonly failures: Queue }
    | undefined
}
