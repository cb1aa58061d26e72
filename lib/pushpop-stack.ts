import { Topic } from 'aws-cdk-lib/aws-sns'
import { type CfnElement, CfnOutput, Stack, type StackProps } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { PushPop, type PushPopProps } from './constructs/push-pop.ts'

export type PushPopStackProps = StackProps & {
  readonly service: PushPopProps
  readonly alarmTopicArn?: string
}

/** One service, with its address and names as outputs. */
export class PushPopStack extends Stack {
  readonly service: PushPop

  constructor(scope: Construct, id: string, props: PushPopStackProps) {
    const { service, alarmTopicArn, ...stackProps } = props
    super(scope, id, { description: 'PushPop: a serverless priority queue', ...stackProps })
    this.service = new PushPop(this, 'Default', {
      ...service,
      ...(alarmTopicArn !== undefined && {
        alarmTopic: Topic.fromTopicArn(this, 'AlarmTopic', alarmTopicArn),
      }),
    })

    new CfnOutput(this, 'Url', { value: this.service.url })
    new CfnOutput(this, 'TableName', { value: this.service.storage.table.tableName })
    new CfnOutput(this, 'BucketName', { value: this.service.storage.bucket.bucketName })
  }

  /**
   * `Push`, not `Push37A2E91C`: ids that a person types (`sam local invoke Push`) and that stay what
   * they are. The hash is there to tell apart `A/BC` and `AB/C`; two such fail the synth instead.
   * Here and not in the construct, which may be in a stack twice.
   */
  protected override allocateLogicalId(element: CfnElement): string {
    const path = element.node.path.slice(this.node.path.length).split('/')
    return path
      .filter((id) => id !== 'Resource' && id !== 'Default')
      .map((id) => id.replaceAll(/[^A-Za-z0-9]/g, ''))
      .map((id) => id.charAt(0).toUpperCase() + id.slice(1))
      .join('')
  }
}
