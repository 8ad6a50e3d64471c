package confirm

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm/clause"

	"github.com/apdesk/apdesk/models"
)

// Actions lists what a workspace can forbid: the tools, by their names, and what REST alone offers.
func Actions() []string {
	return []string{"route_to_person", "stop_and_escalate", "get_case", "withdraw_case",
		"hold_and_recheck", "list_due_rechecks", "report_recheck", "cancel_hold",
		"request_approval", "get_approval", "withdraw_request", "redeem_approval", "report_write", "revoke_approval",
		ActionRequest, ActionGet, ActionTake, ActionWithdraw}
}

// Blocks lists what the workspace forbids, by action and channel. People of the workspace may read it.
func (s *Service) Blocks(ctx context.Context, by models.Principal) ([]models.SecurityBlock, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var blocks []models.SecurityBlock
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		return tx.DB.Where("workspace_id = ?", by.WorkspaceID).Order("action, channel").Find(&blocks).Error
	})
	return blocks, err
}

// Block forbids an action on a channel. Forbidding it twice changes nothing.
func (s *Service) Block(ctx context.Context, by models.Principal, action string, channel models.Channel) error {
	return s.setBlock(ctx, by, action, channel, "security.blocked", func(tx *models.Tx) (int64, error) {
		block := models.SecurityBlock{WorkspaceID: by.WorkspaceID, Action: action, Channel: channel, AuthorName: by.UserName, CreatedAt: tx.Now}
		if by.UserID != "" {
			block.AuthorID = &by.UserID
		}
		made := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&block)
		return made.RowsAffected, made.Error
	})
}

// Unblock allows an action on a channel again.
func (s *Service) Unblock(ctx context.Context, by models.Principal, action string, channel models.Channel) error {
	return s.setBlock(ctx, by, action, channel, "security.unblocked", func(tx *models.Tx) (int64, error) {
		gone := tx.DB.Where("workspace_id = ? AND action = ? AND channel = ?", by.WorkspaceID, action, channel).Delete(&models.SecurityBlock{})
		return gone.RowsAffected, gone.Error
	})
}

func (s *Service) setBlock(ctx context.Context, by models.Principal, action string, channel models.Channel, event string, set func(*models.Tx) (int64, error)) error {
	if by.Channel != models.ChannelSystem {
		if err := by.NeedPerson(); err != nil {
			return err
		}
	}
	if err := by.NeedRole(models.RoleAdmin); err != nil {
		return err
	}
	var issues []models.Issue
	if !slices.Contains(Actions(), action) {
		issues = append(issues, models.Issue{Path: "/action", Message: "must be the name of a tool"})
	}
	if channel != models.ChannelAPI && channel != models.ChannelMCP {
		issues = append(issues, models.Issue{Path: "/channel", Message: "must be api or mcp"})
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		changed, err := set(tx)
		if err != nil {
			return fmt.Errorf("confirm: change a block: %w", err)
		}
		if changed == 0 {
			return nil
		}
		return tx.Audit(event, models.Ref{Subject: action}, map[string]any{"action": action, "channel": channel})
	})
}
