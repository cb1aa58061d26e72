// The table and the bucket, and each function's rights to them, as data.

import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
} from 'aws-cdk-lib/aws-dynamodb'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3'
import { type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib/core'
import { Construct, type IConstruct } from 'constructs'
import { CHECK_INDEX, DIRECTORY_INDEX, type TableKey, tableDefinition } from '../../aws/table.ts'
import type { FunctionName } from '../../lambdas/runtime/names.ts'
import { acceptFindings, kept } from './every-resource.ts'

export type StorageProps = {
  /** The data is deleted with the stack, and nothing protects the table. */
  readonly throwaway: boolean
}

/** How far point-in-time recovery reaches back, and so how long deleted objects must be kept. */
const RECOVERY_DAYS = 35

/** The table and the bucket: all the state there is. */
export class Storage extends Construct {
  readonly table: Table
  readonly bucket: Bucket

  constructor(scope: Construct, id: string, { throwaway }: StorageProps) {
    super(scope, id)
    this.table = new Table(this, 'Table', {
      partitionKey: attribute(tableDefinition.partitionKey),
      sortKey: attribute(tableDefinition.sortKey),
      // A queue's load is nothing, then a burst. And an idle table costs nothing.
      billingMode: BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: tableDefinition.timeToLiveAttribute,
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        recoveryPeriodInDays: RECOVERY_DAYS,
      },
      // Housekeeping's filter needs `work` in the new image; transitions ("was empty, is not") need the
      // old image too. A change of the view would replace the stream, and Lambda reads either view for
      // nothing, so we choose the wider one from the start.
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      deletionProtection: !throwaway,
      // Unlike the bucket: if the first deployment failed, CloudFormation would try to delete a protected
      // table, fail, and leave the stack in ROLLBACK_FAILED. An empty table that stays behind does less
      // harm (docs/operations.md says how to remove it).
      removalPolicy: throwaway ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    })
    for (const { name, partitionKey, sortKey } of tableDefinition.indexes) {
      this.table.addGlobalSecondaryIndex({
        indexName: name,
        partitionKey: attribute(partitionKey),
        sortKey: attribute(sortKey),
        projectionType: ProjectionType.KEYS_ONLY,
      })
    }

    this.bucket = new Bucket(this, 'Segments', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // A table restored to last week points to objects that were trimmed since. Deleted versions
      // stay as long as such a restore can reach; a segment of 4.5 KB costs $0.0000001 for it.
      versioned: !throwaway,
      lifecycleRules: [
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
        ...(throwaway
          ? []
          : [
              {
                id: 'deleted-segments',
                noncurrentVersionExpiration: Duration.days(RECOVERY_DAYS),
                expiredObjectDeleteMarker: true,
              },
            ]),
      ],
      removalPolicy: kept(throwaway),
      autoDeleteObjects: throwaway,
    })
    acceptFindings(this.bucket, {
      'AwsSolutions-S1':
        'Only the functions of this stack reach the bucket, and each request of theirs is in their logs; ' +
        'server access logs would cost one more object for every few segments. CloudTrail data events are the audit.',
    })
  }

  /** For a role of this service that was granted access: the one wildcard in it. */
  acceptAccess(role: IConstruct): void {
    const bucket = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnResource)
    acceptFindings(role, {
      [`AwsSolutions-IAM5[Resource::<${bucket}.Arn>/*]`]:
        'An object is named after its queue, of which there may be any number; the bucket holds nothing else.',
    })
  }

  /** The rights to push by the engine (`createQueues`) rather than over HTTP. */
  grantPush(grantee: IGrantable): Grant {
    return this.grant(grantee, storageAccess.Push)
  }

  /** Allows popping, acknowledging, extending, releasing and dead-lettering with the engine. */
  grantPop(grantee: IGrantable): Grant {
    return this.grant(grantee, storageAccess.Pop).combine(this.grant(grantee, storageAccess.Settle))
  }

  /** Allows looking at queues with the engine. */
  grantInspect(grantee: IGrantable): Grant {
    return this.grant(grantee, storageAccess.Inspect)
  }

  /** Allows configuring, cancelling, moving, purging and redriving with the engine. */
  grantManage(grantee: IGrantable): Grant {
    return this.grant(grantee, storageAccess.Manage)
  }

  /** Allows using rate limits with the engine (`createRateLimits`). */
  grantRate(grantee: IGrantable): Grant {
    return this.grant(grantee, storageAccess.Rate)
  }

  /** Written by hand: the CDK's own grants add rights that we do not use (`Scan`, `ListBucket`, `Abort*`). */
  grant(grantee: IGrantable, access: StorageAccess): Grant {
    const { tableArn } = this.table
    const grants = [
      Grant.addToPrincipal({
        grantee,
        actions: [...access.table],
        resourceArns: [tableArn],
      }),
    ]
    if (access.objects !== undefined) {
      grants.push(
        Grant.addToPrincipal({
          grantee,
          actions: [...access.objects],
          resourceArns: [this.bucket.arnForObjects('*')],
        }),
      )
    }
    if (access.indexes !== undefined) {
      grants.push(
        Grant.addToPrincipal({
          grantee,
          actions: ['dynamodb:Query'],
          resourceArns: access.indexes.map((name) => `${tableArn}/index/${name}`),
        }),
      )
    }
    return grants.reduce((all, one) => all.combine(one))
  }
}

const attribute = ({ name, type }: TableKey) => ({
  name,
  type: type === 'S' ? AttributeType.STRING : AttributeType.NUMBER,
})

/** What a user of the engine does to the table and the bucket, as plain data. */
export type StorageAccess = {
  readonly table: readonly string[]
  /** Indexes that are queried: for IAM, `table/…/index/<name>` is a separate resource. */
  readonly indexes?: readonly string[]
  readonly objects?: readonly string[]
}

const readItems = ['dynamodb:GetItem', 'dynamodb:Query']
const change = ['dynamodb:UpdateItem']
/** Rows of batches and chunks, written and deleted in batches; `PutItem` for one, and for a record. */
const writeRows = ['dynamodb:PutItem', 'dynamodb:BatchWriteItem']
const readObjects = ['s3:GetObject']
const writeObjects = ['s3:PutObject', 's3:DeleteObject']

/**
 * A push may seal a segment, and one that needs room for a lane does some housekeeping, so a push may do
 * nearly all that housekeeping may.
 */
const moveItems = {
  table: [...readItems, ...change, ...writeRows],
  objects: [...readObjects, ...writeObjects],
} as const satisfies StorageAccess

/**
 * Every function's rights. IAM has no action for a transaction: it needs those of the writes in it.
 * No function scans the table or lists the bucket. The sweeper forgets empty queues, Manage deletes schedules, and Pop,
 * Wake and the sweeper join due items: these alone may delete rows by their conditions.
 * `test/lib/engine-rights.test.ts` runs the engine under exactly these.
 */
export const storageAccess = {
  Push: moveItems,
  /** A pop joins due items first, which is a push and deletes their rows; housekeeping trims what a pop took. */
  Pop: { ...moveItems, table: [...moveItems.table, 'dynamodb:DeleteItem'] },
  /** Dead-lettering moves items to another queue, which is a push. */
  Settle: moveItems,
  Inspect: {
    table: [...readItems, 'dynamodb:BatchGetItem'],
    indexes: [DIRECTORY_INDEX],
    objects: readObjects,
  },
  /** Redrive moves items, as dead-lettering does; a schedule is put and deleted. */
  Manage: { ...moveItems, table: [...moveItems.table, 'dynamodb:DeleteItem'] },
  /** A key is one item, made by an update; the patterns and the secret of tickets are put. */
  Rate: { table: ['dynamodb:GetItem', ...change, 'dynamodb:PutItem'] },
  ReturnExpiredLocks: {
    table: [...moveItems.table, 'dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
    indexes: [CHECK_INDEX, DIRECTORY_INDEX],
    objects: moveItems.objects,
  },
  /**
   * It joins due items and pushes for schedules, and looks up the queues whose timers end together, as the sweeper
   * does.
   */
  Wake: {
    table: [...moveItems.table, 'dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
    indexes: [CHECK_INDEX],
    objects: moveItems.objects,
  },
  Housekeep: moveItems,
  Health: undefined,
  /** A push, by another way: of several keys together it looks up the receipts together. */
  ApplyInbox: { ...moveItems, table: [...moveItems.table, 'dynamodb:BatchGetItem'] },
} as const satisfies Record<FunctionName | 'ApplyInbox' | 'Wake', StorageAccess | undefined>
