import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Duration } from 'aws-cdk-lib/core'
import { acceptFindings } from './accept-findings.ts'

/**
 * Lets these functions call Wake, and no other. A call that is late or fails is dropped: the minute's sweep calls
 * again, or does the work itself.
 */
export function letCall(wake: LambdaFunction, callers: readonly LambdaFunction[]): void {
  for (const caller of callers) {
    caller.addToRolePolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [wake.functionArn] }),
    )
  }
  wake.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
  const reason =
    'A call that fails leaves nothing over that a queue of failures could hold: the sweep of the next minute ' +
    'does its work.'
  acceptFindings(wake, {
    'Serverless-LambdaDLQ': reason,
    'Serverless-LambdaAsyncFailureDestination': reason,
  })
}
