package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// NewServerRule names a server and says whose role confirms a tool of it, or all that no other rule
// names. An address without a path stands for every address of its origin.
type NewServerRule struct {
	ServerURL  string
	ServerName string
	Tool       string // empty for any
	Role       models.Role
}

// ServerRules lists the rules in force, by server and tool. People of the workspace may read them.
func (s *Service) ServerRules(ctx context.Context, by models.Principal) ([]models.ServerRule, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var rules []models.ServerRule
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		return tx.DB.Where("workspace_id = ? AND retired_at IS NULL", by.WorkspaceID).Order("server_name, server_url, tool, id").Find(&rules).Error
	})
	return rules, err
}

// mayEditServers lets admins and finance leads edit the rules on the pages, and operators at the
// command line. No token can.
func mayEditServers(by models.Principal) error {
	if by.Channel == models.ChannelSystem {
		return nil
	}
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return by.NeedRole(models.RoleAdmin, models.RoleFinanceLead)
}

// AddServerRule adds a rule. Questions already asked keep the role they have. CONFLICT when there is a
// rule for this server and tool already.
func (s *Service) AddServerRule(ctx context.Context, by models.Principal, n NewServerRule) (models.ServerRule, error) {
	if err := mayEditServers(by); err != nil {
		return models.ServerRule{}, err
	}
	address, err := n.check()
	if err != nil {
		return models.ServerRule{}, err
	}
	var rule models.ServerRule
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		rule = models.ServerRule{ID: tx.NewID(models.PrefixServerRule), WorkspaceID: by.WorkspaceID, ServerURL: address, ServerName: n.ServerName,
			Tool: strings.TrimSpace(n.Tool), Role: n.Role, AuthorName: by.UserName, CreatedAt: tx.Now}
		if by.UserID != "" {
			rule.AuthorID = &by.UserID
		}
		if _, err := tx.Workspace(); errors.Is(err, models.ErrNoRow) {
			return models.Missing("workspace", by.WorkspaceID)
		} else if err != nil {
			return fmt.Errorf("confirm: read workspace: %w", err)
		}
		if err := tx.DB.Create(&rule).Error; err != nil {
			return fmt.Errorf("confirm: write server rule: %w", err)
		}
		tx.Notify(models.TopicConfirmations(by.WorkspaceID))
		return tx.Audit("server_rule.added", models.Ref{Subject: rule.ID}, map[string]any{"server": rule.ServerURL, "server_name": rule.ServerName, "tool": rule.Tool, "role": rule.Role})
	})
	if models.IsDuplicate(err) {
		return models.ServerRule{}, models.E(models.Conflict, "There is a rule for this server and tool already. Retire it first.", map[string]any{"server": address, "tool": n.Tool})
	}
	return rule, err
}

func (n *NewServerRule) check() (string, error) {
	var issues []models.Issue
	address, _, problem := serverAddress(strings.TrimSpace(n.ServerURL))
	if problem != "" {
		issues = append(issues, models.Issue{Path: "/server_url", Message: problem})
	}
	name, why := models.NeededLine(n.ServerName, maxServerName, fmt.Sprintf("is required: what people call the server, in at most %d characters", maxServerName))
	if n.ServerName = name; why != "" {
		issues = append(issues, models.Issue{Path: "/server_name", Message: why})
	}
	if utf8.RuneCountInString(n.Tool) > maxTool {
		issues = append(issues, models.Issue{Path: "/tool", Message: fmt.Sprintf("must have at most %d characters", maxTool)})
	}
	if !slices.Contains(answerers, n.Role) {
		issues = append(issues, models.Issue{Path: "/role", Message: "must be ap_clerk, ap_lead, procurement, finance_lead or master_data"})
	}
	if len(issues) > 0 {
		return "", models.Invalid(issues...)
	}
	return address, nil
}

// RetireServerRule ends a rule. Questions already asked keep the role they have.
func (s *Service) RetireServerRule(ctx context.Context, by models.Principal, id string) error {
	if err := mayEditServers(by); err != nil {
		return err
	}
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var rule models.ServerRule
		err := tx.Lock().Where("id = ? AND workspace_id = ?", id, by.WorkspaceID).Take(&rule).Error
		if errors.Is(err, models.ErrNoRow) {
			return models.Missing("server rule", clip(id, 80))
		}
		if err != nil {
			return fmt.Errorf("confirm: read server rule: %w", err)
		}
		if !rule.RetiredAt.IsZero() {
			return models.E(models.Conflict, fmt.Sprintf("%s retired this rule on %s.", rule.RetiredBy, when(rule.RetiredAt)), map[string]any{"id": rule.ID})
		}
		if err := tx.DB.Model(&models.ServerRule{}).Where("id = ?", rule.ID).Updates(map[string]any{"retired_at": tx.Now, "retired_by": by.UserName}).Error; err != nil {
			return fmt.Errorf("confirm: retire server rule: %w", err)
		}
		tx.Notify(models.TopicConfirmations(by.WorkspaceID))
		return tx.Audit("server_rule.retired", models.Ref{Subject: rule.ID}, map[string]any{"server": rule.ServerURL, "tool": rule.Tool, "role": rule.Role})
	})
}

// rulesFor reads the rules in force that know a server, whatever tool they are for.
func rulesFor(tx *models.Tx, address, origin string) ([]models.ServerRule, error) {
	var rules []models.ServerRule
	err := tx.DB.Where("workspace_id = ? AND server_url IN ? AND retired_at IS NULL", tx.By.WorkspaceID, []string{address, origin}).Order("id").Find(&rules).Error
	if err != nil {
		return nil, fmt.Errorf("confirm: read server rules: %w", err)
	}
	return rules, nil
}

// choose finds the rule that counts for a tool among those that know its server: one that names the
// tool before one for any, and of these the exact address before its origin.
func choose(rules []models.ServerRule, address, tool string) (models.ServerRule, bool) {
	var best models.ServerRule
	found, rank := false, 0
	for _, r := range rules {
		if r.Tool != "" && r.Tool != tool {
			continue
		}
		mine := 1
		if r.Tool != "" {
			mine += 2
		}
		if r.ServerURL == address {
			mine++
		}
		if mine > rank {
			best, rank, found = r, mine, true
		}
	}
	return best, found
}
